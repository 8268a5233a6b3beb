import { newWebhookSecret, webhookHeaders } from './deliver.ts';

const message = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: 1614265330, body: '{"test": 2432232314}' };
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

it('signs the example of the Standard Webhooks libraries as they do', () => {
  expect(webhookHeaders(message, [secret])).toEqual({
    'webhook-id': message.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  });
});

it('signs separately with the old secret and the new one', () => {
  const [one, other] = [newWebhookSecret(), newWebhookSecret()];
  const signed = (...secrets: string[]) => webhookHeaders(message, secrets)['webhook-signature'];
  expect(signed(one, other)).toBe(`${signed(one)} ${signed(other)}`);
  expect(signed(one)).not.toBe(signed(other));
});

it('creates secrets of 32 bytes, never the same twice', () => {
  const secrets = Array.from({ length: 100 }, newWebhookSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const each of secrets) expect(Buffer.from(each.replace(/^whsec_/, ''), 'base64')).toHaveLength(32);
});
