import { isAllowedAddress } from './addressPolicy.rules.ts';

/**
 * Rows: which callers may send to an address: public ones, ones that may use private addresses, and ones without TLS.
 */
it.each([
  ['93.184.215.14', 'public private'],
  ['2606:2800:21f:cb07::1', 'public private'],
  ['127.0.0.1', 'private plain'],
  ['127.9.9.9', 'private plain'],
  ['::1', 'private plain'],
  ['::ffff:127.0.0.1', 'private plain'],
  ['10.1.2.3', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['100.100.100.100', 'private'],
  ['198.19.0.1', 'private'],
  ['fd00:ec2::1', 'private'],
  ['64:ff9b::a00:1', 'private'],
  ['::ffff:10.0.0.1', 'private'],
  ['::ffff:0:10.0.0.1', 'private'],
  ['::10.0.0.1', 'private'],
  ['::ffff:93.184.215.14', 'public private'],
  ['172.32.0.1', 'public private'],
  ['169.254.169.254', ''],
  ['::ffff:169.254.169.254', ''],
  ['64:ff9b::169.254.169.254', ''],
  ['100.100.100.200', ''],
  ['fd00:ec2::254', ''],
  ['fd20:ce::254', ''],
  ['fe80::1', ''],
  ['0.0.0.0', ''],
  ['::', ''],
  ['224.0.0.1', ''],
  ['255.255.255.255', ''],
  ['240.0.0.1', ''],
  ['ff02::1', ''],
  ['2002:7f00:1::', ''],
  ['2001:0:1::1', ''],
])('callers that may send to %s: %s', (address, callers) => {
  const policies = {
    public: { allowsPrivate: false, loopbackOnly: false },
    private: { allowsPrivate: true, loopbackOnly: false },
    plain: { allowsPrivate: true, loopbackOnly: true },
  };
  const allowed = Object.entries(policies).filter(([, policy]) => isAllowedAddress(address, policy));
  expect(allowed.map(([name]) => name).join(' ')).toBe(callers);
});
