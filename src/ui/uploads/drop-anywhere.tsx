/** Asks which knowledge base files go into, and makes a new one where that is wanted. */
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { projects, refreshCatalog } from '../api/catalog.ts'
import { createKnowledgeBase } from '../api/knowledge-bases.ts'
import { SelectField, TextField } from '../components/form/field.tsx'
import { FormDialog } from '../components/form/form.tsx'
import { counted, shownBytes } from '../components/numbers.ts'
import { addressOf } from '../shell/addresses.ts'
import type { NamedFile } from './picked-files.ts'
import { addUploads } from './uploads.ts'
import { DropZone } from './window-drop.tsx'

/** Files that somebody gave, before it is said where they go. */
export const givenFiles = signal<readonly NamedFile[] | undefined>(undefined)

/** What every view has that does not say itself what happens with files. */
export function DropAnywhere() {
  const files = givenFiles.value
  return (
    <>
      <DropZone
        label="Drop to add to a knowledge base"
        onFiles={(dropped) => {
          givenFiles.value = dropped
        }}
      />
      {files && (
        <DropTarget
          files={files}
          onClose={() => {
            givenFiles.value = undefined
          }}
        />
      )}
    </>
  )
}

interface DropTargetProps {
  readonly files: readonly NamedFile[]
  readonly onClose: () => void
}

const NEW = ''

function DropTarget({ files, onClose }: DropTargetProps) {
  const { route, path } = useLocation()
  const places = (projects.value ?? []).flatMap(({ name: project, knowledgeBases }) => {
    return knowledgeBases.map(({ name }) => ({
      project,
      name,
      key: JSON.stringify([project, name]),
    }))
  })
  // The one that is looked at, or the first: also where they are known only after the files were dropped.
  const here = places.find(({ project, name }) => {
    const address = addressOf.knowledgeBase(project, name)
    return path === address || path.startsWith(`${address}/`)
  })
  const [picked, setPicked] = useState<string>()
  const chosen = picked ?? (here ?? places[0])?.key ?? NEW
  const isKnown = projects.value !== undefined
  // From then on only the person changes it: not a knowledge base that is made elsewhere, nor another view.
  useEffect(() => {
    if (isKnown) setPicked((before) => before ?? chosen)
  }, [isKnown])
  const [name, setName] = useState('documents')
  const place = places.find(({ key }) => key === chosen)
  const add = async () => {
    const target = place ?? { project: projects.value?.[0]?.name ?? 'mindsdb', name: name.trim() }
    if (place === undefined) {
      await createKnowledgeBase(target.project, { name: target.name })
      // It is there, whether the list of all can be read now or not.
      await refreshCatalog().catch(() => {})
    }
    addUploads(target.project, target.name, files)
    onClose()
    route(addressOf.addDocuments(target.project, target.name))
  }
  const bytes = files.reduce((sum, { content }) => sum + content.size, 0)
  return (
    <FormDialog
      title={`Add ${counted(files.length, 'file')}`}
      verb="Add"
      onSubmit={add}
      onClose={onClose}
    >
      <p class="quiet">
        {shownBytes(bytes)}. They are read and split into chunks, and can then be searched.
      </p>
      <SelectField
        label="Knowledge base"
        value={place?.key ?? NEW}
        onChoose={setPicked}
        options={[
          ...places.map(({ project, name: known, key }) => [key, `${known} (${project})`] as const),
          [NEW, 'A new one'],
        ]}
      />
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
    </FormDialog>
  )
}
