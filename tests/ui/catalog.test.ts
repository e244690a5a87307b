import { afterEach, expect, mock, spyOn, test } from 'bun:test'
import { projects, refreshCatalog } from '../../src/ui/api/catalog.ts'

afterEach(() => {
  mock.restore()
  projects.value = undefined
})

test('an older answer does not replace a newer one', async () => {
  const answers: ((names: readonly string[]) => void)[] = []
  const answer = async (input: unknown): Promise<Response> => {
    if (input !== '/api/catalog') throw new Error(`No answer for ${String(input)}`)
    const { promise, resolve } = Promise.withResolvers<readonly string[]>()
    answers.push(resolve)
    const nothing = { knowledge_bases: [], agents: [], views: [], jobs: [] }
    return Response.json((await promise).map((name) => ({ project: { name }, ...nothing })))
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
