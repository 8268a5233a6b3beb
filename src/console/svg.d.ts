/** The bundler imports a picture as its text. */
declare module '*.svg' {
  const text: string;
  export default text;
}
