import { random as createRandom } from '../../../fixtures/world/sampling/random.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { acceptHost, judgeHost, type KnownHosts, refusalText } from './clones.rules.ts';

type Ids = Pick<CheckInRequest['host'], 'machine' | 'boot' | 'name'>;

/** Hosts by name; a prime is the same host after a reboot. */
const hosts: Record<string, Ids> = {
  A: { machine: 'm', boot: '1', name: 'web' },
  "A'": { machine: 'm', boot: '2', name: 'web' },
  "A''": { machine: 'm', boot: '3', name: 'web' },
  // Clones with the same machine id and the same host name.
  B: { machine: 'm', boot: '4', name: 'web' },
  "B'": { machine: 'm', boot: '5', name: 'web' },
  // A clone with a machine id of its own.
  C: { machine: 'n', boot: '6', name: 'web' },
  "C'": { machine: 'n', boot: '7', name: 'web' },
  // A clone with a host name of its own.
  N: { machine: 'm', boot: '8', name: 'web-2' },
  "N'": { machine: 'm', boot: '9', name: 'web-2' },
  // Agents that read only one of the ids, or none: older ones, and systems without /etc/machine-id.
  mA: { machine: 'm', name: 'web' },
  bA: { boot: '1', name: 'web' },
  bB: { boot: '4', name: 'web' },
  old: { name: 'web' },
};

/** The hosts of one backend, as the service stores them. */
class Backend {
  known: KnownHosts = { history: null, clonedAt: null, seenAt: null, isRetiring: false };
  generation = 1;
  now = 0;

  /** The event, otherwise `ok` or `refused`. */
  checkIn(ids: Ids): string {
    const host = { arch: 'x64', os: 'linux', ...ids };
    const { generation } = this;
    const verdict = judgeHost(this.known, { host, address: null, generation, now: (this.now += 60) });
    const { history, clonedAt, isAccepted, event } = verdict;
    const { seenAt } = this.known;
    this.known = { ...this.known, history, clonedAt, seenAt: isAccepted ? this.now : seenAt };
    const copies = history?.copies ?? [];
    expect(copies.length).toBeLessThanOrEqual(12);
    const served = copies.filter(({ role }) => role === 'accepted').length;
    expect(served).toBe(clonedAt === null && copies.length > 0 ? 1 : 0);
    return event ?? (isAccepted ? 'ok' : 'refused');
  }

  accept({ machine, boot }: Ids): string {
    const history = acceptHost(this.known.history, { machine: machine ?? null, boot: boot ?? null });
    if (history === null) return 'unknown';
    this.known = { ...this.known, history, clonedAt: null };
    return 'accepted';
  }

  /** `A`: a check-in; `+A`: an operator accepts A; `kit`: a new kit is used from now on; `retire`. */
  play(step: string): string {
    if (step === 'kit') return `${(this.generation += 1)}`;
    if (step === 'retire') {
      this.known = { ...this.known, isRetiring: true, clonedAt: null };
      return '-';
    }
    return step.startsWith('+') ? this.accept(hosts[step.slice(1)]!) : this.checkIn(hosts[step]!);
  }
}

it.each([
  ['a host that stays', 'A A A', 'ok ok ok'],
  ['reboots are events only', "A A' A' A'' A''", 'ok rebooted ok rebooted ok'],
  ['a move to another machine is an event only', "A C C C'", 'ok moved ok rebooted'],
  ['A, B, A is a clone, for both', 'A B A B A', 'ok rebooted cloned refused refused'],
  ['with machine ids of their own too', 'A C A C', 'ok moved cloned refused'],
  ['three copies', 'A B C A C', 'ok rebooted moved cloned refused'],
  ['a copy that returns late', "A B B B B A'' B", 'ok rebooted ok ok ok rebooted cloned'],
  ['a conflict lasts through reboots', "A B A A' B'", 'ok rebooted cloned refused refused'],
  ['the accepted one is served', 'A B A +A A B A B', 'ok rebooted cloned accepted ok refused ok refused'],
  ['the other one may be accepted', 'A B A +B A B', 'ok rebooted cloned accepted refused ok'],
  ['a decision may be changed', 'A B A +A B +B A B', 'ok rebooted cloned accepted refused accepted refused ok'],
  ['a boot during the conflict may be accepted', "A B A A' +A' A' B", 'ok rebooted cloned refused accepted ok refused'],
  ['the accepted one reboots', "A B A +A A' B A' A''", 'ok rebooted cloned accepted rebooted refused ok rebooted'],
  [
    'a refused copy reboots: the accepted boot returns',
    "A B A +A B' A B'",
    'ok rebooted cloned accepted rebooted rebooted refused',
  ],
  ['a refused copy with its own machine reboots', "A C A +A C' A C'", 'ok moved cloned accepted refused ok refused'],
  ['a refused copy with its own name reboots', "A N A +A N' A", 'ok rebooted cloned accepted refused ok'],
  ['the accepted one with its own name reboots', "N A N +A A' N'", 'ok rebooted cloned accepted rebooted refused'],
  ['two unknown boots after a decision', "A B A +A A' B' A'", 'ok rebooted cloned accepted rebooted rebooted cloned'],
  ['older agents are not judged', 'A old A old A', 'ok ok ok ok ok'],
  ['but wait in a conflict', 'A B A old +A old', 'ok rebooted cloned refused accepted ok'],
  ['no machine id: the boot decides', 'bA bB bA', 'ok rebooted cloned'],
  ['an id that becomes readable is no change', 'mA A mA A B', 'ok ok ok ok rebooted'],
  ['an id that is unreadable at times is no change', 'A bA A mA A', 'ok ok ok ok ok'],
  ['a new kit ends a conflict', 'A B A kit B B A', 'ok rebooted cloned 2 ok ok rebooted'],
  ['a new kit on another machine', 'A kit C', 'ok 2 moved'],
  ['two images with one kit', 'kit A B A', '2 ok rebooted cloned'],
  ['every copy hears of a retirement', 'A B retire A B', 'ok rebooted - rebooted rebooted'],
  ['but no refused one', 'A B A +A A retire B A', 'ok rebooted cloned accepted ok - refused ok'],
  ['nothing to decide', "A +A A' +A", 'ok unknown rebooted unknown'],
  ['an unknown host', 'A B A +C', 'ok rebooted cloned unknown'],
])('%s', (_title, steps, expected) => {
  const backend = new Backend();
  expect(
    steps
      .split(' ')
      .map((step) => backend.play(step))
      .join(' '),
  ).toBe(expected);
});

describe('any sequence of two hosts', () => {
  const random = createRandom(20_261_130);
  const pick = (share: number) => random() < share;
  const boots: Record<string, number> = {};
  const hostOf = (host: string): Ids => ({ machine: 'm', boot: `${host}${boots[host] ?? 0}`, name: 'web' });
  const reboot = (host: string) => (boots[host] = (boots[host] ?? 0) + 1);

  it('one host that reboots at random is never refused', () => {
    for (let run = 0; run < 60; run++) {
      const backend = new Backend();
      for (let tick = 0; tick < 30; tick++) {
        if (pick(0.4)) reboot('A');
        expect(backend.checkIn(hostOf('A'))).not.toMatch(/cloned|refused/);
      }
    }
  });

  it('two are noticed once one of them has been seen in the same boot before and after the other', () => {
    for (let run = 0; run < 60; run++) {
      const backend = new Backend();
      let isCloned = false;
      const ticks: string[] = [];
      for (let tick = 0; tick < 30; tick++) {
        const host = pick(0.5) ? 'A' : 'B';
        if (pick(0.2)) reboot(host);
        const { boot } = hostOf(host);
        const before = ticks.lastIndexOf(boot!);
        isCloned ||= before !== -1 && before < ticks.length - 1;
        ticks.push(boot!);
        const isRefused = /cloned|refused/.test(backend.checkIn(hostOf(host)));
        expect(isRefused).toBe(isCloned);
      }
    }
  });

  it('the accepted boot is always served, whatever the other does', () => {
    for (let run = 0; run < 60; run++) {
      const backend = new Backend();
      for (const host of ['A', 'B', 'A']) backend.checkIn(hostOf(host));
      expect(backend.accept(hostOf('A'))).toBe('accepted');
      for (let tick = 0; tick < 60; tick++) {
        if (pick(0.3)) reboot('B');
        if (pick(0.5)) backend.checkIn(hostOf('B'));
        expect(backend.checkIn(hostOf('A'))).toMatch(/ok|rebooted/);
      }
    }
  });
});

it('names the hosts and the command, and what a refused copy is to do', () => {
  const backend = new Backend();
  for (const step of ['A', 'B', 'A']) backend.play(step);
  const text = refusalText(backend.known, 'b-1');
  expect(text).toBe(
    '2 hosts check in with the token of backend b-1: web (boot 1), web (boot 4); an operator must accept one: deployctl host accept b-1',
  );
  backend.play('+A');
  expect(refusalText(backend.known, 'b-1')).toMatch(
    /accepted another host .* create a separate backend for this host and install its kit$/,
  );
});
