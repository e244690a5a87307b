import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { projects, refreshCatalog } from '../../src/ui/api/catalog.ts'

afterEach(() => {
  mock.restore()
  projects.value = undefined
})

test('an older answer does not replace a newer one', async () => {
  const answers: ((names: readonly string[]) => void)[] = []
  const answer = async (input: unknown): Promise<Response> => {
    if (input !== '/api/projects') return Response.json([])
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    answers.push(resolve)
    return Response.json((await promise).map((name) => ({ name })))
  }
  const { preconnect } = fetch
  spyOn(globalThis, 'fetch').mockImplementation(Object.assign(answer, { preconnect }))
  const older = refreshCatalog()
  const newer = refreshCatalog()
  answers[1]?.(['made', 'mindsdb'])
  await newer
  answers[0]?.(['mindsdb'])
  await older
  expect(projects.value?.map(({ name }) => name)).toEqual(['mindsdb', 'made'])
})
