import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { ERRORS } from '../../src/errors.ts'
import { SETTINGS } from '../../src/settings.ts'
import { misstatedErrors, routesOf, undocumentedRoutes, unnamed } from './documentation.ts'

const readme = () => Bun.file(join(import.meta.dir, '../../README.md')).text()

test('README.md names every setting', async () => {
  const names = Object.values(SETTINGS).map((setting) => setting.name)
  expect(names).toContain('EIDER_PORT')
  expect(unnamed(names, await readme())).toEqual([])
})

test('README.md shows every error code with its status and number', async () => {
  expect(misstatedErrors(ERRORS, await readme())).toEqual([])
})

test('a planted setting that is only part of a word is found', () => {
  expect(unnamed(['EIDER_PORT', 'EIDER_HOST'], 'Set `EIDER_HOST` or EIDER_PORT_2')).toEqual([
    'EIDER_PORT',
  ])
})

test('a planted error with another number is found', () => {
  const errors = {
    not_found: { status: 404, number: 1201 },
    timeout: { status: 504, number: 5001 },
  }
  const text = '| not_found | 404 | 1201 |\n| timeout | 504 | 5002 |\n5001'
  expect(misstatedErrors(errors, text)).toEqual(['timeout'])
})

test('planted routes without a line are found, other names for parameters are none', () => {
  const openApi = {
    paths: {
      '/api/projects/{project_name}': { get: {}, delete: {}, parameters: [] },
      '/api/projects/': { get: {} },
      '/api/sql/query': { post: {} },
      '/api/util/ping': { get: {} },
    },
  }
  const text = '| GET | `/api/projects` |\nGET /api/projects/{name}, GET /api/sql/query.'
  expect(undocumentedRoutes(routesOf(openApi), text)).toEqual([
    'DELETE /api/projects/{project_name}',
    'POST /api/sql/query',
    'GET /api/util/ping',
  ])
})
