/**
 * The page runs in Chrome 123, Firefox 128 and Safari 17.5 (docs/page.md), and uses no feature that
 * one of them lacks.
 */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Glob } from 'bun'

const UI = join(import.meta.dir, '../../src/ui')

const ITERATOR_HELPER = '(map|filter|take|drop|some|every|find|reduce|flatMap|forEach|toArray)'

/**
 * Features that one of the browsers lacks, and how they look in code. Styles are allowed if
 * browsers ignore unknown ones.
 */
const TOO_NEW: Readonly<Record<string, RegExp>> = {
  'iterator helpers': RegExp(
    `(\\.(values|keys|entries)\\(\\)|matchAll\\([^()]*\\))\\.${ITERATOR_HELPER}\\(`,
  ),
  'a stream in for await': /for await \([^)]* of [^)]*\b(body|stream|readable)\b/i,
  'streams as requests': /duplex: '/,
  'Response.bytes, Blob.bytes': /\.bytes\(\)/,
  'ReadableStream.from': /ReadableStream\.from\(/,
  'base64 of bytes': /\.(from|to)Base64\(|\.(from|to)Hex\(/,
  'Promise.try': /Promise\.try\(/,
  'RegExp.escape': /RegExp\.escape\(/,
  'Map.getOrInsert': /\.getOrInsert(Computed)?\(/,
  'Iterator.from': /\bIterator\.(from|concat)\(/,
  'using declarations': /^\s*(await )?using \w+ =/m,
  'Temporal, DurationFormat': /\bTemporal\.|\bDurationFormat\(/,
  'idle callbacks': /requestIdleCallback\(/,
  'the scheduler': /\bscheduler\.(yield|postTask)\(/,
  'the navigation API': /\bnavigation\.(navigate|addEventListener)\(/,
  'view transitions': /startViewTransition\(/,
  'file pickers': /show(OpenFile|SaveFile|Directory)Picker\(/,
  'highlights by CSS': /CSS\.highlights|new Highlight\(|::highlight/,
  'plain text that is edited': /plaintext-only/,
  'commands of buttons': /\bcommandfor=|\bclosedby=/,
  'anchors in CSS': /anchor-name:|position-anchor:/,
  'scope in CSS': /^@scope/m,
}

function tooNew(text: string): readonly string[] {
  return Object.keys(TOO_NEW).filter((name) => TOO_NEW[name]?.test(text))
}

test('the page uses what each of its browsers has', async () => {
  const found: string[] = []
  const files = new Glob('**/*.{ts,tsx,css}').scan({ cwd: UI })
  for await (const path of files) {
    const names = tooNew(await Bun.file(join(UI, path)).text())
    found.push(...names.map((name) => `${path}: ${name}`))
  }
  expect(found).toEqual([])
})

test('the rule sees what it forbids', () => {
  expect(tooNew('for await (const line of response.body) {}')).toEqual(['a stream in for await'])
  expect(tooNew('[...map.values()].map(f); map.values().map(f)')).toEqual(['iterator helpers'])
  expect(tooNew('for await (const line of linesOf(response)) {}')).toEqual([])
})
