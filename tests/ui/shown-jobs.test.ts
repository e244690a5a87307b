import { expect, test } from 'bun:test'
import { shownJobs } from '../../src/ui/views/home/shown-jobs.ts'

test('one that runs is shown, however many wait', () => {
  expect(shownJobs([], { running: [6], queued: [20, 19, 18, 17, 16] }, 5)).toEqual([
    6, 16, 17, 18, 19,
  ])
})

test('nothing changes places while the same jobs are under way', () => {
  const first = { running: [6], queued: [20, 19, 18, 17, 16] }
  const shown = shownJobs([], first, 5)
  expect(shownJobs(shown, first, 5)).toEqual(shown)
  expect(shownJobs(shown, { ...first, queued: [25, 24, 23, 22, 21] }, 5)).toContain(6)
})

test('one that is over stays, before those that wait, and gives way to those that run', () => {
  const shown = shownJobs([4, 5], { running: [6], queued: [9, 8, 7] }, 3)
  expect(shown).toEqual([4, 5, 6])
  expect(shownJobs(shown, { running: [8, 7], queued: [9] }, 3)).toEqual([6, 7, 8])
})
