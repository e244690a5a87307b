import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { watchJob } from '../../src/ui/api/jobs.ts'

afterEach(() => mock.restore())

test('jobs that are watched at the same time are asked for in one request', async () => {
  const asked: string[] = []
  const answer = async (input: unknown): Promise<Response> => {
    const address = String(input)
    asked.push(address)
    const ids = new URLSearchParams(address.split('?')[1]).get('ids')?.split(',') ?? []
    return Response.json({ items: ids.map((id) => ({ id: Number(id), state: 'done' })) })
  }
  const { preconnect } = fetch
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(answer, { preconnect }))
  const shown: number[] = []
  const { signal } = new AbortController()
  await Promise.all([1, 2, 3].map((id) => watchJob(id, (job) => shown.push(job.id), signal)))
  expect(asked).toEqual(['/api/jobs?ids=1%2C2%2C3&limit=3'])
  expect(shown.sort()).toEqual([1, 2, 3])
})
