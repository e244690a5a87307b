/**
 * An editor for SQL and JSON. CodeMirror comes when the first one is shown, and stands in a shadow tree, where the page's
 * policy allows its styles. Tab indents; Escape and then Tab leaves.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure, notLoaded } from '../failure.tsx'
import type { EditorHandle, EditorMark, RunPlace } from './code-mirror.ts'
import type { CompleteSql } from './sql-completion.ts'

interface CodeEditorProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly language: 'sql' | 'json'
  /** What screen readers call it. */
  readonly label: string
  /** Places that are wrong, underlined, with what is wrong. */
  readonly marks?: readonly EditorMark[]
  /** Mod+Enter. */
  readonly onRun?: (place: RunPlace) => void
  /** Mod+Shift+Enter. */
  readonly onRunAll?: () => void
  /** What may stand at a place in SQL. */
  readonly complete?: CompleteSql
  /** Of what is edited: another one has its own history of changes. */
  readonly documentKey?: string
  readonly isReadOnly?: boolean
  readonly placeholder?: string
  /** Called once it can be told to do something. */
  readonly onReady?: (handle: EditorHandle) => void
}

export function CodeEditor(props: CodeEditorProps) {
  const { value, marks, documentKey = '', language, isReadOnly = false } = props
  const host = useRef<HTMLDivElement>(null)
  const editor = useRef<EditorHandle | undefined>(undefined)
  const latest = useRef(props)
  latest.current = props
  const [isThere, setIsThere] = useState(false)
  const [failure, setFailure] = useState<Error>()
  useEffect(() => {
    const abort = new AbortController()
    const show = async () => {
      const { openEditor } = await import('./code-mirror.ts')
      if (abort.signal.aborted || host.current === null) return
      editor.current = openEditor(host.current, {
        language,
        isReadOnly,
        label: latest.current.label,
        placeholder: latest.current.placeholder ?? '',
        onChange: (text) => latest.current.onChange(text),
        onRun: (place) => latest.current.onRun?.(place),
        onRunAll: () => latest.current.onRunAll?.(),
        complete: (text, at) => latest.current.complete?.(text, at),
      })
      setIsThere(true)
      latest.current.onReady?.(editor.current)
    }
    show().catch(() => setFailure(notLoaded('The editor')))
    return () => {
      abort.abort()
      editor.current?.close()
      editor.current = undefined
    }
  }, [language, isReadOnly])
  useEffect(() => editor.current?.show(documentKey, value), [isThere, documentKey, value])
  useEffect(() => editor.current?.mark(marks ?? []), [isThere, documentKey, marks])
  return (
    <div class="code-editor-frame">
      {failure && <Failure error={failure} onRetry={() => location.reload()} />}
      <div ref={host} class="code-editor" />
      {!isThere && (
        <pre class="code-editor-waiting" aria-hidden="true">
          {value}
        </pre>
      )}
    </div>
  )
}
