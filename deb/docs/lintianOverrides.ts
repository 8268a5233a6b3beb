/** Why lintian's findings about a program with the runtime in it are not faults; `noun` is what the program is called. */
export function runtimeOverrides(name: string, noun: string): string {
  return `# The program is Node.js, whole, with ${noun} in it: the host needs no runtime. What Node's own build brings:
# its parts are the ones it was tested with, and it is replaced with every release of ${noun}
${name}: embedded-library *
# it is published as an executable at a fixed address; a build of our own would be tested by nobody else
${name}: hardening-no-pie [usr/bin/${name}]
# its release is built without these checks of the C library
${name}: hardening-no-fortify-functions [usr/bin/${name}]
# names and messages in its sources and in V8
${name}: spelling-error-in-binary *
# Its licence and those of what it embeds stand word for word in the copyright file:
# the text of Apache 2.0 is a part of it
${name}: copyright-file-contains-full-apache-2-license
# as is a postal address of the FSF
${name}: old-fsf-address-in-copyright-file
`;
}
