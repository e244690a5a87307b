/** Takes questions with the ids of their right documents from a file or table into the judgments. */
import { useEffect, useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { Dialog } from '../../../components/dialog.tsx'
import { Failure, Loading, Progress } from '../../../components/failure.tsx'
import { Field } from '../../../components/form/field.tsx'
import { useAction, useResource } from '../../../components/resource.ts'
import { tellDone } from '../../../shell/notices.tsx'
import {
  importedQuestions,
  type QuestionSource,
  questionSources,
  sentSource,
} from './question-sources.ts'

interface ImportQuestionsProps {
  readonly place: KnowledgeBaseName
  readonly onDone: () => void
}

export function ImportQuestions(props: ImportQuestionsProps) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <>
      <button type="button" class="button" onClick={() => setIsOpen(true)}>
        Import questions
      </button>
      {isOpen && <Chooser {...props} onClose={() => setIsOpen(false)} />}
    </>
  )
}

function Chooser({ place, onDone, onClose }: ImportQuestionsProps & { onClose: () => void }) {
  const sources = useResource((signal) => questionSources(place, signal), [place])
  const { act, failure, isBusy } = useAction()
  const [left] = useState(() => new AbortController())
  useEffect(() => () => left.abort(), [])
  const take = (name: string, find: () => Promise<QuestionSource>) => {
    return act(async () => {
      await importedQuestions(place, await find())
      tellDone(`The questions of ${name} were imported`)
      onDone()
      onClose()
    })
  }
  const send = async (file: File | undefined) => {
    if (file === undefined) return
    const isDone = await take(file.name, () => sentSource(place, file, left.signal))
    if (!isDone) sources.reload()
  }
  return (
    <Dialog title="Import questions" onClose={onClose}>
      <p class="quiet">
        A row for each question and document: a column <code>question</code> or <code>query</code>,
        and a column <code>document_id</code>, <code>doc_id</code> or <code>document</code>. A
        column <code>grade</code> is read too, where 0 is wrong; without one each document counts as
        right.
      </p>
      <Field
        label="From a file of yours"
        hint="CSV, JSON, Excel or Parquet; it is kept in the files"
      >
        {(control) => (
          <input
            {...control}
            type="file"
            accept=".csv,.tsv,.json,.jsonl,.ndjson,.xlsx,.parquet"
            onChange={({ currentTarget }) => {
              const [file] = currentTarget.files ?? []
              send(file)
              // The same file can be chosen again, once it is mended.
              currentTarget.value = ''
            }}
          />
        )}
      </Field>
      {isBusy && <Progress label="Importing questions …" />}
      {failure && <Failure error={failure} />}
      {sources.failure && <Failure error={sources.failure} onRetry={sources.reload} />}
      {sources.isLoading && <Loading what="files and tables" />}
      {sources.data !== undefined && sources.data.length > 0 && (
        <>
          <h3 class="small">From the server</h3>
          <ul class="search-values">
            {sources.data.map((source) => (
              <li key={`${source.schema}.${source.table}`}>
                <button
                  type="button"
                  class="button"
                  onClick={() => take(source.table, async () => source)}
                >
                  <bdi>
                    {source.schema}.{source.table}
                  </bdi>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  )
}
