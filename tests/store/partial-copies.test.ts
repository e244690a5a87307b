import { expect, test } from 'bun:test'
import { isRecent, newCopy, noteChange, noteRefresh } from '../../src/store/postgres/copied-rows.ts'

test('a partial copy is recent after a refresh, until something is changed', () => {
  const copy = newCopy(0)
  expect(isRecent(copy)).toBe(false)
  noteRefresh(copy, copy.changeCount)
  expect(isRecent(copy)).toBe(true)
  noteChange(copy)
  expect(isRecent(copy)).toBe(false)
})

// A refresh once a second could hide a column that had just been written.
test('a refresh that began before a change and ends after it does not count', () => {
  const copy = newCopy(0)
  const begun = copy.changeCount
  noteChange(copy)
  noteRefresh(copy, begun)
  expect(isRecent(copy)).toBe(false)
})
