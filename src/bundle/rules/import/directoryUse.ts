import type { TreeFile } from './projectTree.ts';

/** What a mounted directory is for: `config` comes along, `data` is written by a container. */
export type DirectoryUse = 'config' | 'data';

/** Most files and bytes of a directory that is configuration. */
const maxFiles = 2_000;
const maxBytes = 2 ** 26;

/** Judges a directory by its files (null: too many to list) and by where it is mounted. */
export function directoryUse(files: readonly TreeFile[] | null, target: string, isReadOnly: boolean): DirectoryUse {
  if (files === null || files.length > maxFiles) return 'data';
  const real = files.filter(
    ({ path }) => !/(^|\/)(\.gitkeep|\.gitignore|\.keep|\.placeholder|readme(\.\w+)?)$/i.test(path),
  );
  if (real.length === 0 || real.reduce((sum, { size }) => sum + size, 0) > maxBytes) return 'data';
  if (isReadOnly) return 'config';
  if (databaseTarget.test(target) || real.some(({ path }) => databaseFile.test(path))) return 'data';
  return real.some(({ path }) => configFile.test(path)) ? 'config' : 'data';
}

/** Whether a path looks like that of a file, so that a container would not make it a directory. */
export function looksLikeFile(path: string): boolean {
  if (/(^|\/)(config|src)$/.test(path)) return false;
  return configFile.test(path) || /(^|\/)[^/.]+\.(db|sqlite3?|log|sock|pid|lock)$/i.test(path);
}

/** Directories in which databases keep their data. */
const databaseTarget =
  /^(\/var\/lib\/(postgresql|mysql|mongodb|redis|rabbitmq|influxdb|clickhouse|cassandra|elasticsearch)|\/data\/(db|configdb)|\/bitnami|\/usr\/share\/elasticsearch\/data)(\/|$)(?!.*(conf|init))/;

const databaseFile = /\.(db|sqlite3?|ibd|frm|myd|rdb|aof|mdb|wal)$|(^|\/)(PG_VERSION|ibdata1|mysql\.sock)$/i;

const configFile =
  /\.(conf|cnf|cfg|ini|toml|ya?ml|json5?|xml|properties|env|sh|bash|sql|lua|m?[jt]s|py|rb|php|pl|html?|css|te?mpl|tpl|j2|hcl|rules?|crt|cert|pem|cer|key|txt|md|ldif|cql|cypher|vcl|acl|repo|service|inc|template|example|sample|dist|default|types|htpasswd|edn|groovy|jar|so|prom|rego|star|tf|vmoptions|policy|users?|passwd|yaml\.tmpl)$|(^|\/)(\.?htpasswd|Caddyfile|Corefile|nginx\.conf|config|Dockerfile|crontab|hosts|passwd|Makefile|\.?\w+rc)$/i;
