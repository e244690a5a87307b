import { expect, test } from 'bun:test'
import { createTestApp } from '../support/test-app.ts'

interface Listed {
  readonly name: string
  readonly kind: string
  readonly signatures: readonly string[]
}

test('GET /api/sql/functions lists what a SELECT may call, and nothing else', async () => {
  const app = await createTestApp()
  const { body } = await app.send('GET', '/api/sql/functions')
  // The route's schema defines this form.
  const functions = body as readonly Listed[]
  const named = (name: string) => functions.find((one) => one.name === name)
  expect(named('round')).toMatchObject({
    kind: 'scalar',
    signatures: ['round(x)', 'round(x, precision)'],
    example: 'round(42.4332, 2)',
  })
  expect(named('sum')).toMatchObject({ kind: 'aggregate' })
  expect(named('row_number')).toMatchObject({ kind: 'window' })
  expect(['read_csv', 'getenv', 'current_setting', 'sleep_ms'].map(named)).toEqual(
    Array(4).fill(undefined),
  )
  expect(functions.length).toBeGreaterThan(500)
  await app.close()
})
