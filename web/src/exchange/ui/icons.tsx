import { Icon } from '../../common/icons';

export function AttachIcon() {
  return (
    <Icon>
      <path d="M15.5 9.2l-5.6 5.6a3.4 3.4 0 0 1-4.8-4.8l6.2-6.2a2.3 2.3 0 0 1 3.2 3.2l-6.1 6.1" />
      <path d="M8.4 13.1a1.1 1.1 0 0 1-1.6-1.6l5.5-5.5" />
    </Icon>
  );
}
