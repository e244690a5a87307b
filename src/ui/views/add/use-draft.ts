/** What is typed into a form of a knowledge base: it stays when another way in or another view is opened, and after a reload. */
import { useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../api/knowledge-bases.ts'

/** Longer ones are kept as long as the page is open: what a tab may store is limited. */
const STORED_CHARS_MAX = 500_000

const texts = new Map<string, string>()

interface Draft {
  readonly text: string
  readonly set: (text: string) => void
  /** Where it has not been changed since it was `sent`. */
  readonly clear: (sent: string) => void
}

export function useDraft({ project, name }: KnowledgeBaseName, field: string): Draft {
  const key = `eider.draft ${JSON.stringify([project, name, field])}`
  const [text, setText] = useState(() => kept(key))
  const set = (next: string) => {
    keep(key, next)
    setText(next)
  }
  return {
    text,
    set,
    clear: (sent) => {
      if (kept(key) === sent) set('')
    },
  }
}

function kept(key: string): string {
  const text = texts.get(key)
  if (text !== undefined) return text
  try {
    return sessionStorage.getItem(key) ?? ''
  } catch {
    return ''
  }
}

function keep(key: string, text: string): void {
  texts.set(key, text)
  try {
    if (text === '' || text.length > STORED_CHARS_MAX) sessionStorage.removeItem(key)
    else sessionStorage.setItem(key, text)
  } catch {
    // It stays in memory.
  }
}
