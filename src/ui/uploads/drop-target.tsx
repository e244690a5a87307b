/** Asks what to do with files dropped on a view that does not use them. */
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { DEFAULT_PROJECT, NAME_CHARS_MAX, quote } from '../../core/domain/names.ts'
import { ensureAgent } from '../api/agents.ts'
import { projects, refreshCatalog, SAMPLE_NAME } from '../api/catalog.ts'
import { sendFile } from '../api/files.ts'
import { createKnowledgeBase, type KnowledgeBaseName } from '../api/knowledge-bases.ts'
import { ApiError } from '../api/request.ts'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Failure, Progress } from '../components/failure.tsx'
import { SelectField, TextField } from '../components/form/field.tsx'
import { knowledgeBaseChoices } from '../components/known-name.ts'
import { counted, shownBytes, shownCount } from '../components/numbers.ts'
import { useAction } from '../components/resource.ts'
import { addressOf } from '../shell/addresses.ts'
import { type NamedFile, TABLE } from './picked-files.tsx'
import { addUploads } from './uploads.ts'

const NEW = ''

interface DropTargetProps {
  readonly files: readonly NamedFile[]
  readonly onClose: () => void
}

/** Query tables, ask about documents, or add them to a knowledge base. */
export function DropTarget({ files, onClose }: DropTargetProps) {
  const { route } = useLocation()
  const { target, fields } = useTarget()
  const { act, failure, isBusy } = useAction()
  const [sent, setSent] = useState<number>()
  const areTables = files.every(({ name }) => TABLE.test(name))
  const isTaken = failure instanceof ApiError && failure.code === 'file_exists'
  const bytes = files.reduce((sum, { content }) => sum + content.size, 0)
  const leave = (address: string) => {
    onClose()
    route(address)
  }
  const add = async () => {
    const { project, name } = await target()
    addUploads(project, name, files)
    leave(addressOf.addDocuments(project, name))
  }
  const ask = async () => {
    const place = await target()
    addUploads(place.project, place.name, files)
    const agent = await agentOver(place)
    leave(addressOf.agent(agent.project, agent.name))
  }
  const query = async (replaces: boolean) => {
    let first: string | undefined
    let done = 0
    for (const { name, content } of files) {
      const signal = new AbortController().signal
      const before = done
      const onSent = (now: number) => setSent(before + Math.min(now, content.size))
      const stored = await sendFile({ name, content, replaces, signal, onSent })
      done += content.size
      const [file] = stored.files
      first ??= file?.sheets[0]?.table ?? file?.name
      if (file === undefined) throw new Error(stored.failed[0]?.detail ?? 'Nothing was stored')
    }
    leave(addressOf.chart(`SELECT * FROM files.${quote(first ?? '')} LIMIT 100`))
  }
  const button = (label: string, isFirst: boolean, work: () => Promise<void>) => (
    <Button
      look={isFirst ? 'primary' : ''}
      type={isFirst ? 'submit' : 'button'}
      label={label}
      aria-disabled={isBusy}
      onClick={isFirst ? undefined : () => act(work)}
    />
  )
  const it = files.length === 1 ? 'it' : 'them'
  return (
    <Dialog title={`Add ${counted(files.length, 'file')}`} onClose={onClose} staysOnClickBeside>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault()
          void act(areTables ? () => query(false) : ask)
        }}
      >
        <p class="quiet">
          {files
            .slice(0, NAMED_MAX)
            .map(({ name }) => name)
            .join(', ')}
          {files.length > NAMED_MAX && ` and ${shownCount(files.length - NAMED_MAX)} more`} ·{' '}
          {shownBytes(bytes)}
        </p>
        {areTables ? (
          <details>
            <summary class="small">Knowledge base, if you make {it} searchable</summary>
            <div class="stack">{fields}</div>
          </details>
        ) : (
          fields
        )}
        {sent !== undefined && isBusy && (
          // Reading a large table takes longer than sending it.
          <Progress
            label={
              sent < bytes ? `${shownBytes(sent)} of ${shownBytes(bytes)}` : 'Sent, being read'
            }
            done={sent < bytes ? sent : undefined}
            total={bytes}
          />
        )}
        {failure && <Failure error={failure} />}
        <div class="row end">
          <Button label="Cancel" onClick={onClose} />
          {areTables && isTaken && button(`Replace ${it}`, false, () => query(true))}
          {button(areTables ? 'Make searchable' : 'Add', false, add)}
          {areTables
            ? button(`Query ${it}`, true, () => query(false))
            : button(`Ask about ${it}`, true, ask)}
        </div>
      </form>
    </Dialog>
  )
}

const NAMED_MAX = 3

/** The chosen knowledge base and its fields. A new one is created when needed. */
function useTarget() {
  const { path } = useLocation()
  const { places, options } = knowledgeBaseChoices()
  // The default choice: the open knowledge base, the open agent's, or a new one. It also works if
  // the lists load after the drop.
  const isOpen = (address: string) => path === address || path.startsWith(`${address}/`)
  const agents = (projects.value ?? []).flatMap(({ name: project, agents: all }) => {
    return all.filter(({ name }) => isOpen(addressOf.agent(project, name)))
  })
  const read = agents.flatMap(({ data }) => data.knowledge_bases ?? [])
  const here = places.find(({ project, name }) => {
    return isOpen(addressOf.knowledgeBase(project, name)) || read.includes(`${project}.${name}`)
  })
  const [picked, setPicked] = useState<string>()
  const isKnown = projects.value !== undefined
  const last = places.findLast(({ name }) => name !== SAMPLE_NAME)
  const chosen = picked ?? (here ?? last)?.key ?? NEW
  // After this, only the user changes the choice, not a new knowledge base or another view.
  useEffect(() => {
    if (isKnown) setPicked((before) => before ?? chosen)
  }, [isKnown])
  const [name, setName] = useState('documents')
  const place = places.find(({ key }) => key === chosen)
  const target = async () => {
    if (place !== undefined) return place
    const made = { project: projects.value?.[0]?.name ?? DEFAULT_PROJECT, name: name.trim() }
    await createKnowledgeBase(made.project, { name: made.name })
    // The knowledge base exists, even if reloading the list fails.
    await refreshCatalog().catch(() => {})
    return made
  }
  const fields = (
    <>
      {(places.length > 0 || !isKnown) && (
        <SelectField
          label="Knowledge base"
          value={place?.key ?? NEW}
          onChoose={setPicked}
          options={[...options, [NEW, 'A new one']]}
        />
      )}
      {place === undefined && (
        <TextField
          label="Name of the new knowledge base"
          required
          value={name}
          onText={(text) => {
            setName(text)
            setPicked(NEW)
          }}
        />
      )}
    </>
  )
  return { target, fields }
}

async function agentOver({ project, name }: KnowledgeBaseName) {
  const reads = `${project}.${name}`
  const agents = projects.value?.find((one) => one.name === project)?.agents ?? []
  const known = agents.find(({ data }) => {
    return data.knowledge_bases?.join() === reads && (data.tables ?? []).length === 0
  })
  const made = `${name.slice(0, NAME_CHARS_MAX - '_agent'.length)}_agent`
  const agent = { project, name: known?.name ?? made }
  if (known === undefined) {
    await ensureAgent(agent, { knowledge_bases: [reads] })
    await refreshCatalog().catch(() => {})
  }
  return agent
}
