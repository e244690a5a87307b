import { afterEach, describe, expect, test } from 'bun:test'
import { FakeModels } from '../../support/fake-models.ts'
import {
  alter,
  appOver,
  closeApps,
  expectAllFound,
  filled,
  inForce,
  insert,
  KBS,
  model,
  nearest,
  numbered,
  shown,
  sql,
  until,
} from './embedding-model-fixture.ts'

afterEach(closeApps)

describe.each(['new-5', 'new-3'])('another model, %s', (next) => {
  test('takes over when all chunks are embedded, despite writes meanwhile', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold(next)
    expect((await alter(t, model(next))).status).toBe(200)
    await held.reached
    const during = await shown(t)
    expect(during.embedding_model.model_name).toBe('old-3')
    expect(during.params.reembedding).toEqual({
      provider: 'openai',
      model_name: next,
      done: 0,
      total: 30,
    })
    expect(await nearest(t, 'text 7')).toContain('text 7')
    expect((await insert(t, numbered(31, 10))).status).toBe(200)
    await sql(t, "DELETE FROM kb WHERE id = 'd3'")
    await sql(t, "UPDATE kb SET content = 'text 99' WHERE id = 'd4'")
    held.letGo()
    await until(t, inForce(next))
    const numbers = [...Array.from({ length: 40 }, (_, index) => index + 1), 99]
    const texts = numbers.filter((n) => n !== 3 && n !== 4).map((n) => `text ${n}`)
    await expectAllFound(t, texts)
    expect((await insert(t, [{ id: 'last', content: 'text 120' }])).status).toBe(200)
    await expectAllFound(t, [...texts, 'text 120'])
    expect(JSON.stringify(await shown(t))).not.toContain('sk-hush')
  })

  test('takes over while an insert is being embedded: it is embedded again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const inserted = insert(t, numbered(31, 5))
    await held.reached
    await alter(t, model(next))
    await until(t, inForce(next))
    held.letGo()
    expect((await inserted).status).toBe(200)
    await expectAllFound(
      t,
      numbered(1, 35).map(({ content }) => content),
    )
  })

  test('takes over between the plan of a search and its run: it is planned again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const found = nearest(t, 'text 12')
    await held.reached
    await alter(t, model(next))
    await until(t, inForce(next))
    held.letGo()
    expect((await found)[0]).toBe('text 12')
  })

  test('is never mixed with the one before, however many search while it takes over', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    let isOver = false
    let count = 0
    const searching = async (offset: number) => {
      for (let n = offset; !isOver; n = (n % 30) + 1) {
        expect((await nearest(t, `text ${n}`))[0]).toBe(`text ${n}`)
        count += 1
      }
    }
    const searches = Promise.all([1, 8, 15, 22].map(searching))
    for (const name of [next, 'old-3', next, 'old-3', next]) {
      const before = count
      expect((await alter(t, model(name))).status).toBe(200)
      await until(t, (kb) => inForce(name)(kb) && count > before + 20)
    }
    isOver = true
    await searches
  })
})

describe('without chunks another model is in force at once', () => {
  test('and its vectors have their own length', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    await sql(t, 'DELETE FROM kb')
    await alter(t, model('new-5'))
    expect(inForce('new-5')(await shown(t))).toBe(true)
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('also one that cannot be reached, with a warning', async () => {
    const models = new FakeModels()
    models.unreachable.add('far-7')
    const t = await appOver(models)
    await t.send('POST', KBS, { knowledge_base: { name: 'kb', embedding_model: model('old-3') } })
    expect((await alter(t, model('far-7'))).status).toBe(200)
    expect((await shown(t)).params.warnings).toEqual([expect.stringContaining('it slept')])
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('a running insert is embedded again', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await t.send('POST', KBS, { knowledge_base: { name: 'kb', embedding_model: model('old-3') } })
    const held = models.hold('old-3')
    const inserted = insert(t, numbered(1, 3))
    await held.reached
    await alter(t, model('new-3'))
    held.letGo()
    expect((await inserted).status).toBe(200)
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })

  test('when they go while it takes over', async () => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t, 250)
    const held = models.hold('new-5', 1)
    await alter(t, model('new-5'))
    await held.reached
    await sql(t, 'DELETE FROM kb')
    await alter(t, model('newer-4'))
    expect(inForce('newer-4')(await shown(t))).toBe(true)
    held.letGo()
    await insert(t, numbered(1, 3))
    await expectAllFound(t, ['text 1', 'text 2', 'text 3'])
  })
})

describe('UPDATE', () => {
  test.each([
    ['of a document', "UPDATE kb SET content = 'text 77' WHERE id = 'd2'"],
    ['of a chunk', "UPDATE kb SET content = 'text 77' WHERE chunk_id = 'd2:content:1of1:0to6'"],
  ])('%s that another model overtakes is embedded again', async (_, statement) => {
    const models = new FakeModels()
    const t = await appOver(models)
    await filled(t)
    const held = models.hold('old-3')
    const updated = sql(t, statement)
    await held.reached
    await alter(t, model('new-3'))
    await until(t, inForce('new-3'))
    held.letGo()
    await updated
    await expectAllFound(t, ['text 77', ...[1, 3, 4, 30].map((n) => `text ${n}`)], 30)
  })
})
