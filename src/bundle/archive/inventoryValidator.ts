import { type Static, Type } from 'typebox';
import { Constant, Sha256 } from '../../api/commonSchemas.ts';
import { schemaCompiler } from '../../core/compileSchema.ts';

const Path = Type.String();
const Paths = Type.Array(Path);
const Count = Type.Integer({ minimum: 0 });

/** The file list of a release, in `.deployd.files.json`; integrity checks compare the files with it. */
const inventorySchema = Type.Object({
  schema: Constant(1),
  sha: Sha256,
  files: Type.Array(Type.Object({ path: Path, size: Count, sha256: Sha256, executable: Type.Boolean() })),
  directories: Paths,
  /** Paths that a service reads or mounts. */
  reached: Paths,
  /** The paths of `reached` that a container may write to. */
  writable: Paths,
  /** sha256 of the compose override. */
  override: Sha256,
  /** How often a path was repaired. Containers that mount it must be recreated after each repair. */
  repairs: Type.Array(Type.Object({ path: Path, count: Count })),
});

export type Inventory = Static<typeof inventorySchema>;

/** Validates a value as the inventory of a release. */
export const validate = schemaCompiler()(inventorySchema);
