/** The page of a room, whoever serves it. */

import type { Heard } from '../call/visit';
import { PageView } from '../page-view';

/** Of the microphone that the browser invents, as near as the ear of the test tells. */
const BEEP_HZ = [330, 470] as const;
export const LOUD = 0.1;

export class RoomPage extends PageView {
  /** Pictures of a member shown so far. */
  async shownOf(member: number): Promise<number> {
    const picture = this.get(`member-${member}`).getByTestId('picture');
    return Number(await picture.getAttribute('data-shown'));
  }

  async enter(name: string): Promise<void> {
    await this.get('name').fill(name);
    await this.get('enter').click();
    await this.untilText('status', 'In the room');
  }

  /** In the foreground: a page behind another draws nothing. */
  async sees(member: number, pictures = 25): Promise<void> {
    await this.page.bringToFront();
    await this.get(`member-${member}`).waitFor();
    const before = await this.shownOf(member);
    await this.until(async () => (await this.shownOf(member)) >= before + pictures);
  }

  heard(): Promise<Heard> {
    return this.page.evaluate(() => window.heard(1_000));
  }

  /** The beep of somebody's microphone. */
  async hears(): Promise<void> {
    const [low, high] = BEEP_HZ;
    await this.until(async () => {
      const { peak, hz } = await this.heard();
      return peak > LOUD && hz > low && hz < high;
    });
  }

  async write(text: string): Promise<void> {
    await this.get('write').fill(text);
    await this.get('send').click();
  }
}
