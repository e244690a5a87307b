/** Why a statement failed, and where. */
import { SqlError } from '../../../api/sql.ts'
import { Button } from '../../../components/button.tsx'
import type { Span } from '../../../components/editor/sql-code.ts'
import { Failure } from '../../../components/failure.tsx'
import { Icon } from '../../../components/icon.tsx'
import type { Run } from '../runs.ts'
import { placeOfError } from '../statement-at.ts'

interface RunFailureProps {
  readonly run: Run
  readonly error: Error
  /** Of the editor. */
  readonly text: string
  readonly onGo: (at: number) => void
}

export function RunFailure({ run, error, text, onGo }: RunFailureProps) {
  if (!(error instanceof SqlError)) return <Failure error={error} />
  const place = placeIn(run, text)
  const [head = '', ...excerpt] = error.message.split('\n')
  return (
    <div class="failure" role="alert">
      <Icon name="warning" />
      <div class="sql-failure">
        <strong>{error.title}</strong>
        <p class="pre" dir="auto">
          {head}
        </p>
        {excerpt.length > 0 && <pre class="sql-excerpt">{excerpt.join('\n')}</pre>}
      </div>
      {place && (
        <Button
          look="small"
          icon="arrow"
          label="Go to the place"
          onClick={() => onGo(place.from)}
        />
      )}
    </div>
  )
}

/** Where in the editor's text a failure stands; undefined once the text is another one. */
export function placeIn({ failure, statement, offset }: Run, text: string): Span | undefined {
  if (!(failure instanceof SqlError)) return undefined
  const { sql } = statement
  if (text.slice(offset, offset + sql.length) !== sql) return undefined
  const place = placeOfError(failure.message, sql)
  return place && { from: offset + place.from, to: offset + place.to }
}
