/** What the forms share that begin an insert: it is sent once, and what fails stands in the form, which keeps what was typed. */
import { useState } from 'preact/hooks'
import { watchJob } from '../../api/jobs.ts'
import {
  type Insert,
  insertInBackground,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { useAction } from '../../components/resource.ts'

/** What each of the ways in is told. */
export interface WayInProps extends KnowledgeBaseName {
  readonly onBegun: (job: Job) => void
}

export function useBegin({ project, name, onBegun }: WayInProps) {
  const { act, failure, isBusy } = useAction()
  /**
   * @param onStored called when all of it was stored, also after the form was left
   * @returns whether it has begun
   */
  const begin = (insert: Insert, onStored?: () => void): Promise<boolean> => {
    return act(async () => {
      const job = await insertInBackground(project, name, insert)
      onBegun(job)
      if (onStored !== undefined) void afterStored(job, onStored)
    })
  }
  return { begin, act, failure, isBusy }
}

async function afterStored({ id }: Job, onStored: () => void): Promise<void> {
  const note = ({ state, error_count: leftOut }: Job) => {
    if (state === 'done' && leftOut === 0) onStored()
  }
  // How it ends is shown in the list of jobs.
  await watchJob(id, note, new AbortController().signal).catch(() => {})
}

/** Longer ones are kept as long as the page is open: what a tab may store is limited. */
const STORED_CHARS_MAX = 500_000

const texts = new Map<string, string>()

interface Draft {
  readonly text: string
  readonly set: (text: string) => void
  /** Where it has not been changed since it was `sent`. */
  readonly clear: (sent: string) => void
}

/** What is typed into a form of a knowledge base: it stays when another way in or another view is opened, and after a reload. */
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
