import { expect, test } from 'bun:test'
import { valuesOf } from '../../src/ui/views/search/search-hit.tsx'

test('a result shows the declared columns once, without empty values and what chunking writes', () => {
  const metadata = {
    ...{
      a: null,
      b: 'x',
      tags: ['p', 'q', 'p'],
      info: { deep: 1 },
      c: '',
      source: 's',
      title: 't',
    },
  }
  const shown = (columns: readonly string[]) =>
    valuesOf(metadata, columns).map(({ name, value }) => `${name} ${value}`)
  expect(shown([])).toEqual(['b x', 'tags p', 'tags q'])
  expect(shown(['tags', 'title'])).toEqual(['tags p', 'tags q'])
  expect(valuesOf({ page: 2, page_end: 2 }, []).map(({ name }) => name)).toEqual(['page'])
  expect(valuesOf({ page: 2, page_end: 3 }, []).map(({ name }) => name)).toHaveLength(2)
})
