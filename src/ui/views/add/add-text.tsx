/** One document, typed or pasted. */
import { getKnowledgeBase } from '../../api/knowledge-bases.ts'
import { Button } from '../../components/button.tsx'
import { Failure } from '../../components/failure.tsx'
import { TextAreaField } from '../../components/form/text-area-field.tsx'
import { TextField } from '../../components/form/text-field.tsx'
import { useResource } from '../../components/resource.ts'
import { useBegin, type WayInProps } from './use-begin.ts'
import { useDraft } from './use-draft.ts'

export function AddText(props: WayInProps) {
  const { project, name } = props
  const id = useDraft(props, 'id')
  const text = useDraft(props, 'text')
  const { begin, failure, isBusy } = useBegin(props)
  const { data, failure: unread } = useResource(
    (signal) => getKnowledgeBase(project, name, signal),
    [project, name],
  )
  const add = async (event: Event) => {
    event.preventDefault()
    if (data === undefined) return
    const content = data.content_columns[0] ?? 'content'
    const row = { ...(id.text === '' ? {} : { [data.id_column]: id.text }), [content]: text.text }
    await begin({ rows: [row] }, () => {
      id.clear(id.text)
      text.clear(text.text)
    })
  }
  const shownFailure = failure ?? unread
  return (
    <form class="stack" onSubmit={add}>
      <TextField
        label="Id"
        hint="Its name in this knowledge base. A document with the same id is replaced. Leave empty to have one made."
        value={id.text}
        onText={id.set}
      />
      <TextAreaField
        label="Text"
        hint="Markdown keeps its headings"
        required
        rows={10}
        value={text.text}
        onText={text.set}
      />
      {shownFailure && <Failure error={shownFailure} />}
      <div>
        <Button
          type="submit"
          look="primary"
          label="Add the text"
          disabled={data === undefined}
          aria-disabled={isBusy}
        />
      </div>
    </form>
  )
}
