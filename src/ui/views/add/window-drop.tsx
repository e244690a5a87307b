/** Files may be dropped anywhere over a view that takes some. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { tellFailed } from '../../shell/notices.tsx'
import { droppedFiles, hasFiles, type NamedFile } from './picked-files.ts'

interface WindowDropProps {
  /** What happens with them: `Add to teas`. */
  readonly label: string
  readonly onFiles: (files: NamedFile[]) => void
}

export function WindowDrop({ label, onFiles }: WindowDropProps) {
  const [isOver, setIsOver] = useState(false)
  const latest = useRef(onFiles)
  latest.current = onFiles
  useEffect(() => {
    const abort = new AbortController()
    const { signal } = abort
    const over = (event: DragEvent) => {
      if (!hasFiles(event.dataTransfer)) return
      event.preventDefault()
      setIsOver(true)
    }
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setIsOver(false)
    }
    const drop = (event: DragEvent) => {
      const { dataTransfer } = event
      if (dataTransfer === null || !hasFiles(dataTransfer)) return
      event.preventDefault()
      setIsOver(false)
      droppedFiles(dataTransfer).then((files) => {
        if (files.length > 0) latest.current(files)
      }, tellFailed)
    }
    addEventListener('dragover', over, { signal })
    addEventListener('dragleave', leave, { signal })
    addEventListener('drop', drop, { signal })
    return () => abort.abort()
  }, [])
  return isOver ? <div class="window-drop">{label}</div> : null
}
