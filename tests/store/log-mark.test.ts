import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LogMark } from '../../src/store/duckdb/log-mark.ts'

test('a mark that cannot be written does not fail the commit that it follows', () => {
  const directory = mkdtempSync(join(tmpdir(), 'eider-mark-'))
  const database = join(directory, 'd.duckdb')
  writeFileSync(database, new Uint8Array(3 * 4096))
  const mark = LogMark.open(database, join(directory, 'mark'))
  // The mark's file is closed, so each write fails.
  mark.close()
  expect(() => mark.record()).not.toThrow()
  rmSync(directory, { recursive: true })
})
