import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { embeddedRecordTests } from '../../../fixtures/suites/tenancy/secretstore/embeddedRecordTests.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { copySqliteStore } from '../commands/backup.ts';

const createPlace = async () => ({ file: join(tempDir(), 'store.sqlite') });

describe('in SQLite', () =>
  embeddedRecordTests(createPlace, async (place) => {
    const { file } = place as { file: string };
    await copySqliteStore(file, `${file}.backup`);
    return Promise.all([file, `${file}-wal`, `${file}.backup`].map((path) => readFile(path)));
  }));
