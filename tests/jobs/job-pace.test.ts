import { expect, test } from 'bun:test'
import { NO_PROGRESS } from '../../src/core/domain/flow/job.ts'
import { JobPace } from '../../src/ops/jobs/job-runs.ts'

const UNKNOWN = { rate: null, remainingSeconds: null }

test('a rate is known after half a second, and the remaining time where the total is', () => {
  const pace = new JobPace(NO_PROGRESS, 0)
  const progress = { ...NO_PROGRESS, rows: 100 }
  pace.note(progress, 400)
  expect(pace.of(progress, 400)).toEqual(UNKNOWN)
  expect(pace.of(progress, 1_000)).toEqual({ rate: 100, remainingSeconds: null })
  const known = { ...progress, total: 1_100 }
  expect(pace.of(known, 1_000)).toEqual({ rate: 100, remainingSeconds: 10 })
})

test('the pace of a job that continues does not include what it stored before', () => {
  const pace = new JobPace({ ...NO_PROGRESS, rows: 1_000_000 }, 0)
  const progress = { ...NO_PROGRESS, rows: 1_000_010 }
  pace.note(progress, 1_000)
  expect(pace.of(progress, 1_000).rate).toBe(10)
})

test('only the last half minute counts', () => {
  const pace = new JobPace(NO_PROGRESS, 0)
  for (let second = 1; second <= 100; second += 1) {
    const rows = second <= 50 ? second * 1_000 : 50_000 + (second - 50)
    pace.note({ ...NO_PROGRESS, rows }, second * 1_000)
  }
  expect(pace.of({ ...NO_PROGRESS, rows: 50_050 }, 100_000).rate).toBe(1)
})
