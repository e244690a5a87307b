import { useState } from 'preact/hooks'
import { Button } from './button.tsx'

const SHOWN_MS = 1500

/** Copies a text, and says so. */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string | (() => string)
  readonly label?: string
}) {
  const [copied, setCopied] = useState<'no' | 'yes' | 'refused'>('no')
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      setCopied('yes')
    } catch {
      setCopied('refused')
    }
    setTimeout(() => setCopied('no'), SHOWN_MS)
  }
  const words = { no: label, yes: 'Copied', refused: 'Your browser refused' }
  return (
    <Button look="small" icon={copied === 'yes' ? 'check' : 'copy'} onClick={copy}>
      <span aria-live="polite">{words[copied]}</span>
    </Button>
  )
}
