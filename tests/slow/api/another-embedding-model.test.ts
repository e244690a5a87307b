import { afterEach, describe, expect, test } from 'bun:test'
import { AppError } from '../../../src/core/errors.ts'
import { FakeModels } from '../../support/fake-models.ts'
import { temporaryFolder } from '../../support/store-fixture.ts'
import { createTestApp } from '../../support/test-app.ts'
import {
  alter,
  appOver,
  closeApps,
  filled,
  inForce,
  KBS,
  model,
  nearest,
  numbered,
  shown,
  sql,
  until,
  vectorTables,
} from './embedding-model-fixture.ts'

afterEach(closeApps)

describe('a running change', () => {
  test('continues after a restart with what is missing', async () => {
    using folder = temporaryFolder()
    const models = new FakeModels()
    const before = await createTestApp({ directory: folder.path, embedders: models.registry() })
    await filled(before, 450)
    await before.rows('SELECT count(*) FROM kb')
    const held = models.hold('new-5', 1)
    await alter(before, model('new-5'))
    await held.reached
    expect((await shown(before)).params.reembedding).toMatchObject({ done: 200, total: 450 })
    await before.close()
    held.letGo()
    const after = await appOver(models, { directory: folder.path })
    expect((await shown(after)).params.reembedding).toEqual({
      provider: 'openai',
      model_name: 'new-5',
    })
    after.app.start()
    await until(after, inForce('new-5'))
    expect(models.asked.get('new-5')?.filter((text) => text.startsWith('text'))).toHaveLength(450)
    expect((await after.rows('SELECT count(*) FROM kb'))[0]).toEqual([450])
    expect((await nearest(after, 'text 100'))[0]).toBe('text 100')
  })

  test('ends when the model in force is named again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    expect((await alter(t, model('old-3'))).status).toBe(200)
    held.letGo()
    expect(await until(t, inForce('old-3'))).toBeDefined()
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
    expect(await vectorTables(t)).toBe(1)
    await alter(t, model('new-3'))
    await until(t, inForce('new-3'))
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
  })

  test('is not touched by another key for the model in force', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    expect((await alter(t, { api_key: 'sk-other' })).status).toBe(200)
    expect((await shown(t)).params.reembedding).toMatchObject({ model_name: 'new-5' })
    held.letGo()
    await until(t, inForce('new-5'))
    expect((await nearest(t, 'text 8'))[0]).toBe('text 8')
  })

  test('gives way to a third model', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    await alter(t, model('newer-5'))
    held.letGo()
    await until(t, inForce('newer-5'))
    for (const text of ['text 1', 'text 200', 'text 250']) {
      expect((await nearest(t, text))[0]).toBe(text)
    }
    expect(await vectorTables(t)).toBe(1)
  })

  test.each([
    ['the knowledge base', `DROP KNOWLEDGE_BASE kb`],
    ['its project', 'DROP PROJECT other'],
  ])('goes with %s', async (what, drop) => {
    const models = new FakeModels()
    const t = await appOver(models)
    const project = what === 'its project' ? 'other' : 'mindsdb'
    await sql(t, 'CREATE PROJECT other')
    await sql(
      t,
      `CREATE KNOWLEDGE_BASE ${project}.kb USING embedding_model = ${JSON.stringify(model('old-3'))}`,
    )
    for (let from = 1; from <= 201; from += 100) {
      const values = numbered(from, 100).map(({ id, content }) => `('${id}', '${content}')`)
      await sql(t, `INSERT INTO ${project}.kb (id, content) VALUES ${values.join(', ')}`)
    }
    const held = models.hold('new-5', 1)
    await sql(
      t,
      `ALTER KNOWLEDGE_BASE ${project}.kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    await held.reached
    await sql(t, drop)
    held.letGo()
    expect(await vectorTables(t)).toBe(0)
    await sql(
      t,
      `CREATE KNOWLEDGE_BASE kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    expect((await shown(t)).params.reembedding).toBeUndefined()
  })

  test('is shown by DESCRIBE, without a secret', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('new-5')
    await sql(
      t,
      `ALTER KNOWLEDGE_BASE kb USING embedding_model = ${JSON.stringify(model('new-5'))}`,
    )
    await held.reached
    const described = JSON.stringify(await t.rows('DESCRIBE KNOWLEDGE_BASE kb'))
    const wanted = '"reembedding":{"provider":"openai","model_name":"new-5","done":0,"total":30}'
    expect(described).toContain(JSON.stringify(wanted).slice(1, -1))
    expect(described).not.toContain('sk-hush')
    const all = JSON.stringify(await t.rows('SELECT * FROM information_schema.knowledge_bases'))
    expect(all).toContain('new-5')
    expect(all).not.toContain('sk-hush')
    // A client that sends back what it read changes nothing.
    const { params } = await shown(t)
    expect((await t.send('PUT', `${KBS}/kb`, { knowledge_base: { params } })).status).toBe(200)
    held.letGo()
    await until(t, inForce('new-5'))
  })
})

describe('what is refused changes nothing', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, number, string[]]>([
    ['a model that refuses', model('bad-7'), {}, 400, ['no such model']],
    ['a model out of reach', model('far-7'), {}, 502, ['it slept', 'keeps its model']],
    [
      'vectors of another length than asked for',
      { ...model('new-5'), dimensions: 8 },
      {},
      400,
      ['5', '8'],
    ],
    [
      'vectors of another length than vector_size',
      model('new-5'),
      { vector_size: 9 },
      400,
      ['5', '9'],
    ],
  ])('%s', async (_, embedding_model, others, status, words) => {
    const models = new FakeModels()
    models.failing.set('bad-7', new AppError('provider_refused', 'no such model'))
    models.unreachable.add('far-7')
    const t = await appOver(models)
    await filled(t)
    const before = await shown(t)
    const refused = await alter(t, embedding_model, others)
    expect(refused.status).toBe(status)
    for (const word of words) expect(refused.text).toContain(word)
    expect(await shown(t)).toEqual(before)
    expect((await nearest(t, 'text 5'))[0]).toBe('text 5')
  })

  test('the same model, whose vectors have another length at the new address', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    models.lengths.set('old-3', 4)
    const refused = await alter(t, { base_url: 'http://elsewhere.test/v1', api_key: 'sk-2' })
    expect([refused.status, refused.text.includes('gives 4, kb holds 3')]).toEqual([400, true])
    expect((await shown(t)).embedding_model.base_url).toBeUndefined()
  })
})
