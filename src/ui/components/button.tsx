import type { ButtonHTMLAttributes } from 'preact'
import { Icon, type IconName } from './icon.tsx'

export interface ButtonProps
  extends Omit<ButtonHTMLAttributes, 'icon' | 'label' | 'type' | 'class'> {
  /** `primary`, `danger`, `quiet`, `small`, `icon-only`, or several of them. */
  readonly look?: string
  readonly icon?: IconName | undefined
  /** What it says; children instead where that is more than text. */
  readonly label?: string
  readonly type?: 'button' | 'submit'
}

/** A button: an icon, words, or both. */
export function Button({ look = '', icon, label, type = 'button', ...others }: ButtonProps) {
  const { children = label, ...attributes } = others
  return (
    <button {...attributes} type={type} class={`button ${look}`}>
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}
