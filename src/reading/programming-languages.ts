import TABLE from '../../assets/reading/languages.json' with { type: 'json' }

/** File extensions of source code, by language. The names are those used in Markdown fences. */
const ENDINGS: Readonly<Record<string, string>> = TABLE.endings
const LANGUAGES = byWord(ENDINGS)

/** Files with conventional names instead of an extension. */
const LANGUAGE_NAMES = byWord(TABLE.names)

/** Programs after `#!` that have another name than their language. */
const INTERPRETERS = byWord(TABLE.interpreters)

export function languageOfName(name: string): string | null {
  const lower = name.toLowerCase()
  const ending = /\.([a-z0-9]{1,16})$/.exec(lower)?.[1] ?? ''
  return LANGUAGE_NAMES.get(lower) ?? LANGUAGES.get(ending) ?? null
}

/** Returns the language named by `#!` in the first line, or null. */
export function languageOfShebang(text: string): string | null {
  const line = /^#!([^\n]{1,200})/.exec(text)?.[1]
  if (line === undefined) return null
  const words = line.trim().split(/\s+/)
  const isEnv = /(^|\/)env$/.test(words[0] ?? '')
  const program = words.slice(isEnv ? 1 : 0).find((word) => !/^-|=/.test(word)) ?? ''
  const bare =
    program
      .split('/')
      .at(-1)
      ?.toLowerCase()
      .replace(/[\d.]+$/, '') ?? ''
  return INTERPRETERS.get(bare) ?? (Object.hasOwn(ENDINGS, bare) ? bare : 'text')
}

function byWord(wordsOf: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(wordsOf).flatMap(([language, words]) => {
      return words.split(' ').map((word) => [word, language] as const)
    }),
  )
}
