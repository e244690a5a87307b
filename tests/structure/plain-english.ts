/**
 * Phrases that read like a translation. The list is short: it catches old habits, but cannot tell
 * good English from bad.
 */
import type { TextFile } from './tracked-files.ts'

const BANNED =
  /\b(whoever|whatever|somebody|[Nn]obody|stands?(?! (?:alone|for|out)\b)|in the place of|of its own kind|(?:is|are|be) told(?! apart)|so (?:many|much)|anew|under way|(?:in|into) step|let(?:s|ting)? go of|so long(?! (?:as|that|work)\b)|(?<!['"])it says so|what there is|(?:databases?|tables?) elsewhere|of (?:ours|theirs)|what is (?:no|not)|(?<!there )(?:is|are) no (?!longer\b|more\b|reason\b|one\b)[a-z]+)\b/i

/** Names of constants and data values are not sentences. */
const DATA = /\bNOBODY\b|'nobody'|somebody@/g

/** Returns banned phrases in pages, comments and names of tests, as `file:line: phrase`. */
export function bannedPhrases(files: readonly TextFile[]): readonly string[] {
  return files.flatMap(({ path, text }) => {
    const lines = text.replaceAll(DATA, '').split('\n')
    return lines.flatMap((line, index) => {
      const phrase = BANNED.exec(path.endsWith('.md') ? line : proseIn(line))?.[0]
      return phrase === undefined ? [] : [`${path}:${index + 1}: ${phrase}`]
    })
  })
}

/** Returns the comment in a line of code, or the name of a test. */
function proseIn(line: string): string {
  const comment = /^\s*(?:\/\*\*?|\*|\/\/)\s(.*)$/.exec(line) ?? /\s\/\/ (.*)$/.exec(line)
  const name = /\b(?:test|describe|[a-z]+Test)(?:\.[a-zA-Z]+)?\(\s*(['"`])(.*?)\1/.exec(line)
  return comment?.[1] ?? name?.[2] ?? ''
}
