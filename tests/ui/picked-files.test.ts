import { expect, test } from 'bun:test'
import { pickedFiles } from '../../src/ui/uploads/picked-files.tsx'

test('a folder is taken without its hidden files, and without what is in its hidden folders', () => {
  const paths = [
    'teas/green/sencha.txt',
    'teas/.git/config',
    'teas/green/.venv/lib/site.py',
    'teas/.DS_Store',
    'teas/Thumbs.db',
    'teas/a.b.md',
  ]
  const files = paths.map((path) => {
    const file = new File([], path.slice(path.lastIndexOf('/') + 1))
    return Object.defineProperty(file, 'webkitRelativePath', { value: path })
  })
  const names = pickedFiles(files).map(({ name }) => name)
  expect(names).toEqual(['teas - green - sencha.txt', 'teas - a.b.md'])
})

test('a name has no white space around it, which the server refuses', () => {
  const names = ['  a b .txt ', ' '].map((name) => new File(['x'], name))
  expect(pickedFiles(names).map(({ name }) => name)).toEqual(['a b .txt', 'file'])
})
