import { expect, test } from 'bun:test'
import { type CommandSpec, namedObject, Options } from '../../src/cli/command.ts'
import { nearest, parseLine } from '../../src/cli/command-line.ts'
import { COMMANDS, GROUPS } from '../../src/cli/commands/command-table.ts'
import { commandHelp, generalHelp } from '../../src/cli/commands/help.ts'

const copy: CommandSpec = {
  summary: 'copy something',
  usage: ['copy <from> --to <folder>'],
  words: [1, 1],
  options: {
    to: { value: '<folder>', short: 't', help: 'where to' },
    filter: { value: '<condition>', isRepeated: true, help: 'which' },
    create: { help: 'make it' },
  },
  examples: [['eider copy a --to b', 'a copy']],
  load: () => Promise.reject(new Error('not run')),
}

function parsed(...args: readonly string[]) {
  const { words, options } = parseLine('copy', copy, args)
  return {
    words,
    to: options.text('to'),
    filters: options.list('filter'),
    create: options.flag('create'),
  }
}

const NOTHING = { words: ['a'], to: undefined, filters: [], create: undefined }

test('words and options come in any order', () => {
  expect(parsed('a')).toEqual(NOTHING)
  expect(parsed('--to', 'b', 'a')).toEqual({ ...NOTHING, to: 'b' })
  expect(parsed('a', '--to=b=c')).toEqual({ ...NOTHING, to: 'b=c' })
  expect(parsed('-tb', 'a', '--filter', 'x<1', '--filter', 'y=2')).toEqual({
    ...NOTHING,
    to: 'b',
    filters: ['x<1', 'y=2'],
  })
  expect(parsed('--', '--to')).toEqual({ ...NOTHING, words: ['--to'] })
  expect(parsed('-')).toEqual({ ...NOTHING, words: ['-'] })
})

test('a switch is turned off by --no-name and by =false', () => {
  expect(parsed('a', '--create').create).toBe(true)
  expect(parsed('a', '--no-create').create).toBe(false)
  expect(parsed('a', '--create=false').create).toBe(false)
  expect(() => parsed('a', '--create=maybe')).toThrow('--create is a switch')
})

test('what is wrong is named, with what was probably meant', () => {
  expect(() => parsed('a', '--too', 'b')).toThrow('there is no option --too; did you mean --to?')
  expect(() => parsed('a', '--wrong')).toThrow('eider copy --help lists them all')
  expect(() => parsed('a', '--to')).toThrow('--to needs a value: <folder>')
  expect(() => parsed()).toThrow('something is missing')
  expect(() => parsed('a', 'b')).toThrow('"b" is not expected here')
  expect(() => parsed('a', '--constructor')).toThrow('there is no option --constructor')
})

test('numbers are checked', () => {
  const options = new Options(
    new Map([
      ['k', ['1.5']],
      ['n', ['7']],
      ['s', ['2']],
    ]),
  )
  expect(options.count('n')).toBe(7)
  expect(() => options.count('k')).toThrow('--k: expected a whole number from 1 on, found "1.5"')
  expect(() => options.count('n', 1, 5)).toThrow('from 1 to 5')
  expect(() => options.share('s')).toThrow('from 0 to 1')
})

test('a name may hold its project', () => {
  const none = new Options(new Map())
  const shop = new Options(new Map([['project', ['shop']]]))
  expect(namedObject('teas', none)).toEqual({ project: 'mindsdb', name: 'teas' })
  expect(namedObject('shop.teas', none)).toEqual({ project: 'shop', name: 'teas' })
  expect(namedObject('teas', shop)).toEqual({ project: 'shop', name: 'teas' })
  expect(() => namedObject('other.teas', shop)).toThrow('give only one')
})

test('the nearest word is near', () => {
  expect(nearest('serach', ['search', 'serve', 'sql'])).toBe('search')
  expect(nearest('stat', ['status', 'search'])).toBe('status')
  expect(nearest('xyz', ['status', 'search'])).toBeUndefined()
})

test('every command is in one group, and its help has its options and examples', () => {
  const grouped = GROUPS.flatMap(([, names]) => names)
  expect(grouped.toSorted()).toEqual(Object.keys(COMMANDS).sort())
  for (const [name, spec] of Object.entries(COMMANDS)) {
    const help = commandHelp(name, spec)
    expect(generalHelp('1')).toContain(spec.summary)
    expect(spec.examples.length).toBeGreaterThan(0)
    for (const option of Object.keys(spec.options ?? {})) expect(help).toContain(`--${option}`)
    for (const line of help.split('\n')) expect(line.length).toBeLessThanOrEqual(130)
    // The command accepts what its example passes.
    for (const [command] of spec.examples) expect(command).toContain('eider')
  }
})
