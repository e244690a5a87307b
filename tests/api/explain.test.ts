import { expect, test } from 'bun:test'
import { createTestApp } from '../support/test-app.ts'

interface Node {
  readonly operator: string
  readonly rows: number | null
  readonly seconds: number | null
  readonly children: readonly Node[]
}

function all(node: Node): readonly Node[] {
  return [node, ...node.children.flatMap(all)]
}

test('EXPLAIN gives the plan as a tree, with rows and times where it ran', async () => {
  const app = await createTestApp()
  const plan = async (options: string) => {
    const rows = await app.rows(
      `EXPLAIN (${options}) SELECT a % 2 AS b, count(*) FROM range(10) AS t(a) GROUP BY b`,
    )
    // The plan has the form that docs/sql-reference.md describes.
    return all(JSON.parse(String(rows.at(-1)?.[1])) as Node)
  }
  const [planned, measured] = [await plan('FORMAT JSON'), await plan('ANALYZE, FORMAT JSON')]
  expect(planned.every(({ rows, seconds }) => rows === null && seconds === null)).toBe(true)
  expect(planned.some(({ operator }) => operator.includes('GROUP_BY'))).toBe(true)
  expect(measured[0]?.rows).toBe(2)
  expect(measured.every(({ seconds }) => typeof seconds === 'number')).toBe(true)
  await expect(plan('FORMAT yaml')).rejects.toThrow('expected TEXT')
  await app.close()
})
