import { afterEach, beforeEach, expect, test } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { findDataSource } from '../../src/core/domain/access/catalog-snapshot.ts'
import type { DataSource, DataSourceDraft } from '../../src/core/domain/flow/source-parameters.ts'
import { openStore, type Store } from '../../src/store/store.ts'
import { failureOf, openMemoryStore, temporaryFolder } from '../support/store-fixture.ts'

let store: Store

beforeEach(async () => {
  store = await openMemoryStore()
})

afterEach(() => store.close())

const SHOP: DataSourceDraft = {
  name: 'Shop',
  engine: 'postgres',
  parameters: { host: 'db.example', port: 5433, password: 'a-very-secret-word' },
}

function sourceNamed(name: string, where = store): DataSource | undefined {
  return findDataSource(where.catalog.snapshot(), name)
}

test('a data source is found without case, changed and dropped', async () => {
  const created = await store.dataSourceCatalog.createDataSource(SHOP)
  expect(sourceNamed('sHOP')).toEqual(created)
  expect(created).toMatchObject(SHOP)
  const parameters = { host: 'other.example' }
  const altered = await store.dataSourceCatalog.alterDataSource(created, () => ({ parameters }))
  expect(altered).toMatchObject({ id: created.id, engine: 'postgres', parameters })
  expect(sourceNamed('shop')).toEqual(altered)
  await store.dataSourceCatalog.dropDataSource(altered)
  expect(sourceNamed('shop')).toBeUndefined()
  const again = store.dataSourceCatalog.dropDataSource(altered)
  expect((await failureOf(again)).code).toBe('database_not_found')
  const change = store.dataSourceCatalog.alterDataSource(altered, () => ({ parameters }))
  expect((await failureOf(change)).code).toBe('database_not_found')
})

test('projects and data sources share their names', async () => {
  await store.dataSourceCatalog.createDataSource(SHOP)
  expect(await failureOf(store.catalog.createProject('SHOP'))).toEqual({
    code: 'database_exists',
    message: 'Database with name SHOP already exists',
  })
  const twice = store.dataSourceCatalog.createDataSource({ ...SHOP, name: 'shop' })
  expect((await failureOf(twice)).code).toBe('database_exists')
  const asProject = store.dataSourceCatalog.createDataSource({ ...SHOP, name: 'MindsDB' })
  expect((await failureOf(asProject)).code).toBe('project_exists')
})

test('a replaced data source keeps its identity', async () => {
  const created = await store.dataSourceCatalog.createDataSource(SHOP)
  const draft: DataSourceDraft = { name: 'shop', engine: 'mysql', parameters: {} }
  const replaced = await store.dataSourceCatalog.createDataSource(draft, true)
  expect(replaced).toMatchObject({ id: created.id, name: 'Shop', engine: 'mysql', parameters: {} })
  expect(store.catalog.snapshot().dataSources).toEqual([replaced])
})

test('it is there after a restart, and the data folder does not reveal its parameters', async () => {
  using folder = temporaryFolder()
  const first = await openStore({ directory: folder.path })
  const created = await first.dataSourceCatalog.createDataSource(SHOP)
  await first.close()
  const files = readdirSync(folder.path).map((name) => join(folder.path, name))
  const bytes = files.filter((path) => statSync(path).isFile()).map((path) => readFileSync(path))
  const text = Buffer.concat(bytes).toString('latin1')
  expect(text).toContain('Shop')
  expect(text).not.toContain('a-very-secret-word')
  expect(text).not.toContain('db.example')
  const second = await openStore({ directory: folder.path })
  expect(sourceNamed('shop', second)).toEqual(created)
  await second.close()
})
