import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { watchJob } from '../../src/ui/api/jobs.ts'

afterEach(() => mock.restore())

test('jobs that are watched at the same time are asked for in one request, but for two that are streamed', async () => {
  const asked: string[] = []
  const answer = async (input: unknown): Promise<Response> => {
    const address = String(input)
    asked.push(address)
    if (address.endsWith('/events')) return new Response('data: {"id":0,"state":"done"}\n\n')
    const ids = new URLSearchParams(address.split('?')[1]).get('ids')?.split(',') ?? []
    return Response.json({ items: ids.map((id) => ({ id: Number(id), state: 'done' })) })
  }
  const { preconnect } = fetch
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(answer, { preconnect }))
  const shown: number[] = []
  const { signal } = new AbortController()
  await Promise.all([1, 2, 3, 4, 5].map((id) => watchJob(id, (job) => shown.push(job.id), signal)))
  expect(asked.sort()).toEqual([
    '/api/jobs/1/events',
    '/api/jobs/2/events',
    '/api/jobs?ids=3%2C4%2C5&limit=3',
  ])
  expect(shown.sort()).toEqual([0, 0, 3, 4, 5])
})
