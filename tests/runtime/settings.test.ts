import { expect, test } from 'bun:test'
import { memoryBytesOf } from '../../src/store/duckdb/memory-watchdog.ts'
import { settingsFrom } from '../../src/wiring/settings/settings.ts'

test('nothing needs no unit: a cache of 0 is one of 0MB', () => {
  const { vectorMemory, rowMemory, diskReserve } = settingsFrom({
    EIDER_VECTOR_MEMORY: '0',
    EIDER_ROW_MEMORY: '0',
    EIDER_DISK_RESERVE: '0',
  })
  expect([vectorMemory, rowMemory, diskReserve].map(memoryBytesOf)).toEqual([0, 0, 0])
})

test('a size without its unit is refused', () => {
  for (const text of ['512', '00', '-1', '0.5', '']) {
    expect(() => settingsFrom({ EIDER_VECTOR_MEMORY: text })).toThrow('EIDER_VECTOR_MEMORY')
  }
})

test('a misspelled setting is refused with the one it probably means', () => {
  const refused = (name: string) => () => settingsFrom({ [name]: '1' })
  expect(refused('EIDER_DATADIR')).toThrow('EIDER_DATADIR. Did you mean "EIDER_DATA_DIR"? --help')
  expect(refused('EIDER_FOO')).toThrow('Unknown setting: EIDER_FOO. --help lists them all')
})
