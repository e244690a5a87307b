/**
 * An SQL editor. CodeMirror is loaded with the first editor, into a shadow tree, where the page's
 * policy allows its styles. Tab indents; Escape followed by Tab leaves the editor.
 */
import { useEffect, useRef, useState } from 'preact/hooks'
import { Failure, notLoaded } from '../failure.tsx'
import type { EditorHandle, EditorMark, SqlNames } from './code-mirror.ts'
import type { Span } from './sql-code.ts'

interface CodeEditorProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The name announced by screen readers. */
  readonly label: string
  /** Errors, underlined where they occur. */
  readonly marks?: readonly EditorMark[]
  readonly onRun?: (place: Span) => void
  readonly onRunAll?: () => void
  readonly names?: SqlNames | undefined
  /** Identifies the edited document; each has its own undo history. */
  readonly documentKey?: string
  readonly placeholder?: string
  /** Called once the editor is ready. */
  readonly onReady?: (handle: EditorHandle) => void
}

export function CodeEditor(props: CodeEditorProps) {
  const { value, marks, documentKey = '' } = props
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
        label: latest.current.label,
        placeholder: latest.current.placeholder ?? '',
        onChange: (text) => latest.current.onChange(text),
        onRun: (place) => latest.current.onRun?.(place),
        onRunAll: () => latest.current.onRunAll?.(),
        names: () => latest.current.names,
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
  }, [])
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
