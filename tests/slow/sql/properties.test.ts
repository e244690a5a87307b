import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import { runQuery } from '../../../src/query/run/run-query.ts'
import { parseTree, treeText } from '../../../src/sql/ast/select-ast.ts'
import { openSqlFixture, type SqlFixture } from '../../sql/sql-fixture.ts'
import { isEverything } from '../../support/sample.ts'

const RUNS = isEverything ? 25 : 10

let fixture: SqlFixture
beforeAll(async () => {
  fixture = await openSqlFixture()
})
afterAll(() => fixture.close())

async function rowsOf(sql: string, params = {}): Promise<readonly (readonly unknown[])[]> {
  const { signal } = new AbortController()
  const result = await runQuery({ sql, db: 'mindsdb', params }, fixture.deps, signal)
  if (result.kind !== 'table') throw new Error('no rows')
  const rows: (readonly unknown[])[] = []
  for await (const batch of result.rows.batches) rows.push(...batch)
  return rows
}

const text = fc.integer({ min: 0, max: 250 }).map((number) => `'text ${number}'`)
const filter = fc.oneof(
  fc.constant('true'),
  fc.integer({ min: 0, max: 9 }).map((price) => `price < ${price}`),
  fc.integer({ min: 0, max: 9 }).map((price) => `price IN (${price}, 3) OR colour = 'red'`),
  fc.constantFrom('red', 'blue', 'green').map((colour) => `metadata.colour != '${colour}'`),
  fc.integer({ min: 1, max: 200 }).map((number) => `id LIKE 'd${number}%'`),
  fc
    .double({ min: 0, max: 1, noNaN: true })
    .map((threshold) => `relevance >= ${threshold.toFixed(4)}`),
  fc.double({ min: 0, max: 1, noNaN: true }).map((far) => `NOT distance > ${far.toFixed(4)}`),
)
const search = fc.oneof(
  text.map((one) => `content = ${one}`),
  fc.tuple(text, text).map(([one, other]) => `content IN (${one}, ${other})`),
  fc.tuple(text, text).map(([one, other]) => `content = ${one} AND content LIKE ${other}`),
  fc.tuple(text, text).map(([one, other]) => `content = ${one} AND content != ${other}`),
  fc.tuple(text, text).map(([one, other]) => `(content = ${one} OR NOT content <> ${other})`),
  text.map((one) => `content = ${one} AND hybrid_search = true`),
  fc.tuple(text, text).map(([one, other]) => {
    return `((content = ${one} AND price < 4) OR (content = ${other} AND NOT colour = 'red'))`
  }),
)

/** fast-check prints the seed when a property fails. */
async function check<T extends readonly unknown[]>(
  arbitraries: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
  property: (...values: T) => Promise<void>,
): Promise<void> {
  // The mapped type above loses the types of a tuple's members.
  const values = fc.tuple(...arbitraries) as unknown as fc.Arbitrary<T>
  const all = fc.asyncProperty(values, (found) => property(...found))
  await fc.assert(all, { numRuns: RUNS })
}

const limit = fc.integer({ min: 0, max: 60 })

test('LIMIT n is the beginning of LIMIT m', async () => {
  await check([search, filter, limit, limit], async (wanted, kept, n, m) => {
    const of = (rows: number) => {
      return rowsOf(`SELECT id, relevance FROM kb WHERE ${wanted} AND (${kept}) LIMIT ${rows}`)
    }
    const [few, many] = [await of(Math.min(n, m)), await of(Math.max(n, m))]
    expect(few).toEqual(many.slice(0, few.length))
    expect(few.length).toBe(Math.min(n, m, many.length))
  })
})

test('OFFSET continues where LIMIT ends', async () => {
  await check([search, limit, limit], async (wanted, n, m) => {
    const of = (tail: string) => rowsOf(`SELECT id FROM kb WHERE ${wanted} LIMIT ${tail}`)
    const both = [...(await of(`${n}`)), ...(await of(`${m} OFFSET ${n}`))]
    expect(both).toEqual([...(await of(`${n + m}`))])
  })
})

test('filter then rank is rank then filter', async () => {
  // A hybrid search scales by the rows that the filter keeps.
  const vectors = search.filter((one) => !one.includes('hybrid'))
  await check([vectors, filter], async (wanted, kept) => {
    const columns = 'id, relevance, distance'
    const together = await rowsOf(
      `SELECT ${columns} FROM kb WHERE ${wanted} AND (${kept}) LIMIT 300`,
    )
    const after = await rowsOf(`WITH ranked AS (SELECT *, price, colour FROM kb WHERE ${wanted})
      SELECT ${columns} FROM ranked WHERE ${kept.replace('metadata.', '')} ORDER BY distance, chunk_id`)
    expect(together).toEqual(after)
  })
})

test('nearest first, equal ones by chunk_id, relevance from 0 to 1', async () => {
  await check([search, filter], async (wanted, kept) => {
    const rows = await rowsOf(
      `SELECT relevance, distance, chunk_id FROM kb WHERE ${wanted} AND (${kept}) LIMIT 300`,
    )
    const isHybrid = wanted.includes('hybrid')
    for (const [index, [relevance, distance, id]] of rows.entries()) {
      expect(relevance).toBeGreaterThanOrEqual(0)
      expect(relevance).toBeLessThanOrEqual(1)
      const [before, near, smaller] = rows[index - 1] ?? []
      if (before === undefined) continue
      if (isHybrid) expect(Number(before)).toBeGreaterThanOrEqual(Number(relevance))
      else {
        expect(Number(near)).toBeLessThanOrEqual(Number(distance))
        if (near === distance) expect(String(smaller) < String(id)).toBe(true)
      }
    }
  })
})

test('an aggregate over a search sees every row that its WHERE keeps', async () => {
  await check([search, filter], async (wanted, kept) => {
    const where = `WHERE ${wanted} AND (${kept})`
    const [[count] = []] = await rowsOf(`SELECT count(*) FROM kb ${where}`)
    expect(count).toBe((await rowsOf(`SELECT id FROM kb ${where} LIMIT 1000`)).length)
  })
})

test('a parameter means what its text means in the statement', async () => {
  await check([text, filter], async (quoted, kept) => {
    const sql = (one: string) => `SELECT id, distance FROM kb WHERE content = ${one} AND (${kept})`
    const params = { q: quoted.slice(1, -1) }
    expect(await rowsOf(sql(':q'), params)).toEqual(await rowsOf(sql(quoted)))
  })
})

test('two searches in one statement are those of two statements', async () => {
  await check([text, text], async (one, other) => {
    const nearest = (alias: string, of: string) => {
      return `(SELECT id, distance FROM kb WHERE content = ${of} LIMIT 5) AS ${alias}`
    }
    const joined = await rowsOf(
      `SELECT a.id, b.id FROM ${nearest('a', one)} POSITIONAL JOIN ${nearest('b', other)}`,
    )
    const ids = async (of: string) => {
      return (await rowsOf(`SELECT id FROM kb WHERE content = ${of} LIMIT 5`)).flat()
    }
    const [left, right] = [await ids(one), await ids(other)]
    expect(joined).toEqual(left.map((id, index) => [id, right[index]]))
  })
})

test('a searched column finds what each of its texts finds alone', async () => {
  const several = fc.uniqueArray(text, { minLength: 1, maxLength: 5 })
  await check([several], async (texts: readonly string[]) => {
    const values = texts.map((one) => `(${one})`).join(', ')
    const together = await rowsOf(`SELECT q.t, k.id FROM (VALUES ${values}) AS q(t),
      LATERAL (SELECT id, distance FROM kb WHERE content = q.t LIMIT 3) AS k ORDER BY q.t, k.distance, k.id`)
    const alone: (readonly unknown[])[] = []
    for (const one of [...texts].sort()) {
      const found = await rowsOf(
        `SELECT id FROM kb WHERE content = ${one} ORDER BY distance, id LIMIT 3`,
      )
      alone.push(...found.map(([id]) => [one.slice(1, -1), id]))
    }
    expect(together.map(([, id]) => id).sort()).toEqual(alone.map(([, id]) => id).sort())
  })
})

test('the tree of a printed statement prints the same', async () => {
  const corpus = (await Bun.file(`${import.meta.dir}/../../sql/corpus.sql`).text()).split('\n')
  for (const sql of corpus.filter((line) => line !== '' && !line.startsWith('--'))) {
    // DuckDB prints VALUES within another sub-query each time.
    if (/\bvalues\b/i.test(sql)) continue
    const once = await fixture.deps.engine.print(await fixture.deps.engine.parse(sql))
    const tree = await fixture.deps.engine.parse(once)
    expect(treeText(parseTree(tree))).toBe(tree)
    expect(await fixture.deps.engine.print(tree)).toBe(once)
  }
})

/** Conditions that have nothing to do with the search. */
const plainFilter = fc.oneof(
  fc.integer({ min: 0, max: 9 }).map((price) => `price < ${price}`),
  fc.constantFrom('red', 'blue').map((colour) => `metadata.colour = '${colour}'`),
  fc.integer({ min: 1, max: 20 }).map((number) => `id LIKE 'd${number}%'`),
)

test('under OR a row is as relevant as the best of the branches that hold for it', async () => {
  const arbitraries = [text, plainFilter, text, plainFilter] as const
  await check([...arbitraries], async (one, oneFilter, other, otherFilter) => {
    const branches = [`content = ${one} AND ${oneFilter}`, `content = ${other} AND ${otherFilter}`]
    const together = await rowsOf(`SELECT id, relevance, distance FROM kb
      WHERE (${branches.join(') OR (')}) LIMIT 300`)
    const apart = branches.map((branch) => {
      return `(SELECT id, chunk_id, relevance, distance FROM kb WHERE ${branch} LIMIT 300)`
    })
    const best = await rowsOf(`SELECT id, max(relevance), min(distance) FROM
      (${apart.join(' UNION ALL ')}) GROUP BY id, chunk_id ORDER BY min(distance), chunk_id`)
    expect(together).toEqual(best)
  })
})
