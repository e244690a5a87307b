import { expect, test } from 'bun:test'
import { destinations, found } from '../../src/ui/shell/palette.tsx'

const knowledgeBases = ['teas', 'steak', 'old teas', 'a/b?c#d'].map((name) => ({ name }))
// The list searches names.
const projects = [
  { name: 'mindsdb', knowledgeBases, agents: [{ name: 'teas' }] },
] as unknown as Parameters<typeof destinations>[0]
const all = destinations(projects, true)
const labels = (typed: string) => found(all, typed, 8).map(({ label }) => label)

test('whole names come before beginnings, these before the rest, parts after what they are of', () => {
  expect(labels('teas')).toEqual([
    ...['teas', 'teas', 'teas › Search', 'teas › Map', 'teas › Add', 'teas › Settings'],
    ...['teas › Traces', 'teas › Settings'],
  ])
  expect(labels('OLD tea')[0]).toBe('old teas')
})

test('every typed word counts, also those that say what it is and where', () => {
  expect(labels('agent teas mindsdb')).toEqual(['teas', 'teas › Traces', 'teas › Settings'])
  expect(labels('map steak')).toEqual(['steak › Map'])
  expect(labels('nothing like it')).toEqual([])
})

test('without words nothing is part of another, and names are not addresses', () => {
  expect(labels('  ').some((label) => label.includes('›'))).toBe(false)
  expect(found(all, 'a/b', 1)[0]?.href).toBe('/projects/mindsdb/knowledge_bases/a%2Fb%3Fc%23d')
})

test('users who may not write are not sent to views for writing', () => {
  const left = destinations(projects, false).map(({ label }) => label)
  const gone = all.map(({ label }) => label).filter((label) => !left.includes(label))
  expect(new Set(gone)).toEqual(
    new Set([
      ...['New knowledge base', 'New agent', 'a/b?c#d › Add'],
      ...['teas › Add', 'steak › Add', 'old teas › Add'],
    ]),
  )
})
