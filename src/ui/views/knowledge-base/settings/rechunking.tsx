/** The stored documents split again: asked for with what it costs, and shown as it goes on. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Button } from '../../../components/button.tsx'
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx'
import { Failure } from '../../../components/failure.tsx'
import { Loading } from '../../../components/progress.tsx'
import { useResource } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { Costs } from './embedding-settings.tsx'
import { readRechunkCost, rechunkLines } from './rechunk-cost.ts'
import { RechunkProgress } from './rechunk-progress.tsx'
import type { SettingsPartProps } from './saving.ts'

interface RechunkingProps extends SettingsPartProps {
  readonly documents: number
  /** As they would be cut. */
  readonly preprocessing: object
  /** It is not the one that is stored. */
  readonly isChanged: boolean
  readonly onBegin: () => Promise<void>
  /** The button that saves alone. */
  readonly children: ComponentChildren
}

export function Rechunking(props: RechunkingProps) {
  const { of, documents, isChanged, onBegin, onSaved, children } = props
  const [isAsking, setIsAsking] = useState(false)
  const [begun, setBegun] = useState(0)
  const [isRunning, setIsRunning] = useState(false)
  const what = `plit ${counted(documents, 'document')} again`
  return (
    <>
      <div class="row">
        {children}
        {documents > 0 && !isRunning && (
          <Button
            label={isChanged ? `Save and s${what}` : `S${what}`}
            onClick={({ currentTarget: { form } }) => {
              if (form?.reportValidity() !== false) setIsAsking(true)
            }}
          />
        )}
        {isRunning && isChanged && (
          <span class="small quiet">Splitting starts over when you save</span>
        )}
      </div>
      <RechunkProgress of={of} begun={begun} onRunning={setIsRunning} onOver={onSaved} />
      {isAsking && (
        <ConfirmDialog
          title={`S${what}?`}
          verb="Split again"
          onConfirm={async () => {
            await onBegin()
            setBegun((before) => before + 1)
          }}
          onClose={() => setIsAsking(false)}
        >
          <RechunkCosts {...props} />
        </ConfirmDialog>
      )}
    </>
  )
}

function RechunkCosts({ of, kb, preprocessing }: RechunkingProps) {
  const { data, failure, isLoading, reload } = useResource(
    (signal) => readRechunkCost(of, kb, preprocessing, signal),
    [of, kb.id, preprocessing],
  )
  const { provider } = kb.embedding_model
  const type = 'type' in preprocessing ? String(preprocessing.type) : ''
  return (
    <div class="stack">
      {failure && <Failure error={failure} onRetry={reload} />}
      {isLoading && data === undefined && <Loading what="what it costs" />}
      {data && <Costs lines={rechunkLines(data, { provider, type })} />}
      <p>You can cancel it while it goes on: what is split again by then stays so.</p>
    </div>
  )
}
