/** Dark or light: as the system says, or as was chosen here. */
import { effect, signal } from '@preact/signals'
import { Icon } from '../components/icon.tsx'

type Theme = 'system' | 'light' | 'dark'

const KEY = 'eider.theme'
const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const
const WORDS = { system: 'as the system', light: 'light', dark: 'dark' }

const theme = signal<Theme>(storedTheme())

effect(() => {
  document.documentElement.dataset.theme = theme.value
})

function storedTheme(): Theme {
  const stored = localStorage.getItem(KEY)
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

export function ThemeButton() {
  const now = theme.value
  const change = () => {
    theme.value = NEXT[now]
    localStorage.setItem(KEY, theme.value)
  }
  return (
    <button
      type="button"
      class="button quiet icon-only"
      aria-label={`Colours: ${WORDS[now]}. Change to ${WORDS[NEXT[now]]}`}
      title={`Colours: ${WORDS[now]}`}
      onClick={change}
    >
      <Icon name={now === 'dark' ? 'moon' : 'sun'} />
    </button>
  )
}
