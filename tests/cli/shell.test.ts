import { expect, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { historyFile, readHistory, rememberStatement } from '../../src/cli/sql/sql-shell.ts'

test('statements are remembered, the newest first, in a file of one user; secrets are not', () => {
  const folder = mkdtempSync(join(tmpdir(), 'eider-history-'))
  const environment = { XDG_STATE_HOME: folder, HOME: '/nowhere' }
  expect(readHistory(environment)).toEqual([])
  rememberStatement('SELECT 1;', environment)
  rememberStatement('SELECT a,\n  b\nFROM t;', environment)
  rememberStatement(`CREATE DATABASE x PARAMETERS {"password": "hunter2"};`, environment)
  rememberStatement(`ALTER AGENT a USING api_key = 'sk-1';`, environment)
  expect(readHistory(environment)).toEqual(['SELECT a, b FROM t;', 'SELECT 1;'])
  const file = historyFile(environment) ?? ''
  expect(readFileSync(file, 'utf8')).not.toContain('hunter2')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  rmSync(folder, { recursive: true })
})

test('a folder that cannot be written is not a failure', () => {
  rememberStatement('SELECT 1;', { XDG_STATE_HOME: '/dev/null' })
  expect(readHistory({ XDG_STATE_HOME: '/dev/null' })).toEqual([])
  expect(historyFile({})).toBeNull()
})
