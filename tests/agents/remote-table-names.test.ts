/** Tables of data sources that an agent's `data` names. */
import { describe, expect, test } from 'bun:test'
import { agentData } from '../../src/agents/data/agent-data.ts'
import { remoteTableNames } from '../../src/agents/data/remote-table-names.ts'
import type { DataSource } from '../../src/core/domain/flow/source-parameters.ts'
import { AppError } from '../../src/core/errors.ts'
import { type FakeSource, fakeSources, fakeTable } from '../support/fake-sources.ts'
import { agentNamed, CREATED_AT, fileNamed, snapshotOf } from './agent-fixture.ts'

const SHOP = [
  fakeTable('orders', { id: 'BIGINT' }),
  fakeTable('Order Lines', { id: 'BIGINT' }),
  fakeTable('orders', { id: 'BIGINT' }, 'archive'),
  fakeTable('archive.orders', { id: 'BIGINT' }),
]

function sourceNamed(name: string, id: number): DataSource {
  const times = { createdAt: CREATED_AT, updatedAt: CREATED_AT }
  return { id, name, engine: 'postgres', parameters: {}, ...times }
}

async function resolved(
  tables: readonly string[],
  found: Readonly<Record<string, FakeSource>> = { shop: SHOP },
  signal = new AbortController().signal,
) {
  const sources = fakeSources(found)
  const dataSources = Object.keys(found).map(sourceNamed)
  const snapshot = snapshotOf({ dataSources, files: [fileNamed('orders')] })
  const agent = agentNamed('helper', { data: { knowledgeBases: [], tables } })
  const remote = await remoteTableNames(agent, snapshot, sources, signal)
  const { tables: names, warnings } = agentData(agent, snapshot, remote)
  return { names, warnings, asked: sources.asked }
}

describe('tables of data sources', () => {
  test('by name, by schema and by pattern, without case', async () => {
    expect((await resolved(['shop.orders'])).names).toEqual(['shop.orders'])
    expect((await resolved(['SHOP.archive.orders'])).names).toEqual(['shop.archive.orders'])
    expect((await resolved(['shop.order*'])).names).toEqual(['shop.orders', 'shop.Order Lines'])
    expect((await resolved(['shop.archive.*'])).names).toEqual(['shop.archive.orders'])
  })

  test('every one, beside the files of that name, but none whose name has a dot', async () => {
    const { names, warnings } = await resolved(['shop.*', '*.orders'])
    expect(names).toEqual([
      'shop.orders',
      'shop.Order Lines',
      'shop.archive.orders',
      'files.orders',
    ])
    expect(warnings).toEqual([
      'Database shop: 1 tables are left out, because their names contain a dot',
    ])
  })

  test('the schema that is looked in first may be named', async () => {
    const sources = fakeSources({ shop: SHOP })
    const columns: typeof sources.columns = async (source, { schema, name }, signal) => {
      return sources.columns(source, { schema: schema === 'public' ? null : schema, name }, signal)
    }
    const agent = agentNamed('helper', {
      data: {
        knowledgeBases: [],
        tables: ['shop.public.orders', 'shop.other.*', 'shop.public.O*'],
      },
    })
    const snapshot = snapshotOf({ dataSources: [sourceNamed('shop', 1)] })
    const signal = new AbortController().signal
    const found = await remoteTableNames(agent, snapshot, { ...sources, columns }, signal)
    expect(agentData(agent, snapshot, found)).toMatchObject({
      tables: ['shop.public.orders', 'shop.public.Order Lines'],
      warnings: [
        'No table found: shop.other.*',
        'Database shop: 1 tables are left out, because their names contain a dot',
      ],
    })
  })

  test('no database is asked for an agent without such names', async () => {
    expect(await resolved(['files.orders', 'shop'])).toMatchObject({
      names: ['files.orders'],
      warnings: ['No table found: shop'],
      asked: [],
    })
  })

  test('of very many, the first', async () => {
    const many = Array.from({ length: 1200 }, (_, index) => fakeTable(`t${index}`, {}))
    const { names, warnings } = await resolved(['shop.*'], { shop: many })
    expect(names).toHaveLength(1000)
    expect(warnings).toEqual(['shop.* matches 1200 tables; an agent can read at most 1000'])
  })

  test('a source that fails is a warning, and its plain names stay', async () => {
    const down = new AppError('source_failed', 'connect ECONNREFUSED')
    const { names, warnings } = await resolved(['down.orders', 'down.*', 'shop.orders'], {
      down,
      shop: SHOP,
    })
    expect(names).toEqual(['down.orders', 'shop.orders'])
    expect(warnings[0]).toBe('No table found: down.*')
    expect(warnings[1]).toBe('Database down could not list its tables: connect ECONNREFUSED')
  })

  test('a client may leave while a source is silent', async () => {
    const controller = new AbortController()
    const waiting = resolved(['silent.*'], { silent: 'silent' }, controller.signal)
    controller.abort(new AppError('cancelled', 'gone'))
    expect(waiting).rejects.toThrow('gone')
  })
})
