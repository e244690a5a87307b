/** One document, typed or pasted. */
import { useState } from 'preact/hooks'
import { getKnowledgeBase } from '../../api/knowledge-bases.ts'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useResource } from '../../components/resource.ts'
import { useBegin, type WayInProps } from './use-begin.ts'

export function AddText(props: WayInProps) {
  const { project, name } = props
  const [id, setId] = useState('')
  const [text, setText] = useState('')
  const { begin, failure, isBusy } = useBegin(props)
  const { data, failure: unread } = useResource(
    (signal) => getKnowledgeBase(project, name, signal),
    [project, name],
  )
  const add = async (event: Event) => {
    event.preventDefault()
    if (data === undefined) return
    const content = data.content_columns[0] ?? 'content'
    const row = { ...(id === '' ? {} : { [data.id_column]: id }), [content]: text }
    if (!(await begin({ rows: [row] }))) return
    setId('')
    setText('')
  }
  const shownFailure = failure ?? unread
  return (
    <form class="stack" onSubmit={add}>
      <Field
        label="Id"
        hint="Its name in this knowledge base. One with the same id is replaced. Empty: it gets one."
      >
        {(control) => (
          <input
            {...control}
            dir="auto"
            value={id}
            onInput={(event) => setId(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Text" hint="Markdown keeps its headings.">
        {(control) => (
          <textarea
            {...control}
            required
            dir="auto"
            rows={10}
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        )}
      </Field>
      {shownFailure && <Failure error={shownFailure} />}
      <div>
        <button
          type="submit"
          class="button primary"
          disabled={data === undefined}
          aria-disabled={isBusy}
        >
          Add the text
        </button>
      </div>
    </form>
  )
}
