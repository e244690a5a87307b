/** How much the meaning counts beside the keywords in a hybrid search. */
import { Button } from '../button.tsx'
import { TextField } from './text-field.tsx'

interface WeightFieldProps {
  /** 0: keywords alone, 1: meaning alone; null: automatic. */
  readonly alpha: number | null
  readonly onChange: (alpha: number | null) => void
}

const SHOWN_FOR_AUTOMATIC = 0.5

export function WeightField({ alpha, onChange }: WeightFieldProps) {
  return (
    <TextField
      label={`Weight of meaning: ${alpha === null ? 'automatic' : alpha.toFixed(2)}`}
      hint={
        alpha === null ? (
          'Left: keywords alone, right: meaning alone'
        ) : (
          <Button look="small" label="Back to automatic" onClick={() => onChange(null)} />
        )
      }
      type="range"
      min="0"
      max="1"
      step="0.05"
      value={alpha ?? SHOWN_FOR_AUTOMATIC}
      onText={(text) => onChange(Number(text))}
    />
  )
}
