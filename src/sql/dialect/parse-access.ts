import { type Narrowing, narrowing } from './parse-show.ts'
import type { Options, StatementReader } from './statement-reader.ts'

/** Keys, and users with a password. */
export type AccessStatement =
  | { readonly kind: 'create_key'; readonly name: string; readonly options: Options }
  | { readonly kind: 'drop_key'; readonly name: string; readonly ifExists: boolean }
  | {
      readonly kind: 'create_user'
      readonly name: string
      readonly ifNotExists: boolean
      readonly options: Options
    }
  | { readonly kind: 'alter_user'; readonly name: string; readonly options: Options }
  | { readonly kind: 'drop_user'; readonly name: string; readonly ifExists: boolean }
  | { readonly kind: 'show_keys' | 'show_users'; readonly narrowing: Narrowing }

const KEY = 'the name of a key'
const USER = 'the name of a user'

export function accessStatement(read: StatementReader): AccessStatement | undefined {
  if (read.takeWords('create', 'key')) {
    return { kind: 'create_key', name: read.name(KEY), options: usingOptions(read) }
  }
  if (read.takeWords('drop', 'key')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_key', ifExists, name: read.name(KEY) }
  }
  if (read.takeWords('create', 'user')) {
    read.hideTexts()
    const ifNotExists = read.takeWords('if', 'not', 'exists')
    return { kind: 'create_user', ifNotExists, name: read.name(USER), options: usingOptions(read) }
  }
  if (read.takeWords('alter', 'user')) {
    read.hideTexts()
    return { kind: 'alter_user', name: read.name(USER), options: usingOptions(read) }
  }
  if (read.takeWords('drop', 'user')) {
    const ifExists = read.takeWords('if', 'exists')
    return { kind: 'drop_user', ifExists, name: read.name(USER) }
  }
  return show(read)
}

/** `SHOW KEYS FROM t` is about a table's columns, as MySQL has it, and another statement. */
function show(read: StatementReader): AccessStatement | undefined {
  if (read.peekWord(2) === 'from' || read.peekWord(2) === 'in') return undefined
  if (read.takeWords('show', 'keys')) return { kind: 'show_keys', narrowing: narrowing(read) }
  if (read.takeWords('show', 'users')) return { kind: 'show_users', narrowing: narrowing(read) }
  return undefined
}

function usingOptions(read: StatementReader): Options {
  read.expectWord('using')
  return read.options()
}
